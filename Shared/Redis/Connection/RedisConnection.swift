import Instruments
import NIOCore
import Synchronization

/// One pipelined connection, from connected to closed. Safe to use from any task and thread.
///
/// Callers put commands into a queue under a lock; the event loop writes all that has gathered there at once, and
/// resumes each caller when its answer has been read.
final class RedisConnection: Sendable {
    typealias Reply = Result<RedisValue, RedisError>
    /// Unchecked because it stands on the path of every command: `RedisCommandQueue` gives each waiter out
    /// exactly once.
    typealias Waiter = UnsafeContinuation<Reply, Never>

    private let channel: any Channel
    private let metrics: RedisMetrics
    private let queue: Mutex<RedisCommandQueue<Waiter>>
    private let lastToken = Atomic<UInt64>(0)

    init(channel: any Channel, configuration: RedisConfiguration, metrics: RedisMetrics) {
        self.channel = channel
        self.metrics = metrics
        self.queue = Mutex(
            RedisCommandQueue(
                limit: configuration.maximumPendingCommands,
                maximumTimeoutsInARow: configuration.maximumTimeoutsInARow,
                minimumSilence: TimeAmount(configuration.commandTimeout)))
    }

    /// Sends a command and waits for its answer. Never throws: fails with the error.
    func send(_ arguments: [RedisArgument], deadline: NIODeadline) async -> Reply {
        // Once it stands in the queue, the event loop may be faster than the cancellation.
        guard !Task.isCancelled else { return .failure(Self.cancelled) }
        let now = NIODeadline.now()
        let token = lastToken.wrappingAdd(1, ordering: .relaxed).newValue
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                enqueue(arguments, token: token, now: now, deadline: deadline, waiter: waiter)
                // The handler may have run before there was anything to cancel.
                if Task.isCancelled { cancel(token) }
            }
        } onCancel: {
            cancel(token)
        }
    }

    private func enqueue(
        _ arguments: [RedisArgument], token: UInt64, now: NIODeadline, deadline: NIODeadline, waiter: Waiter
    ) {
        let enqueued = queue.withLock {
            $0.enqueue(arguments, token: token, now: now, deadline: deadline, waiter: waiter)
        }
        switch enqueued {
        case .accepted(let flush, let timer):
            if flush { channel.eventLoop.execute { self.flush() } }
            if let timer { scheduleExpiry(at: timer) }
        case .refused(let error):
            waiter.resume(returning: .failure(error))
        }
    }

    private func flush() {
        let (bytes, commands) = queue.withLock { $0.takeOutbox() }
        guard bytes.readableBytes > 0 else { return }
        metrics.commands.increment(by: commands)
        channel.writeAndFlush(bytes, promise: nil)
    }

    private static var cancelled: RedisError { RedisError(.cancelled, "The calling task was cancelled.") }

    private func cancel(_ token: UInt64) {
        let waiter = queue.withLock { $0.cancel(token: token) }
        waiter?.resume(returning: .failure(Self.cancelled))
    }

    private func scheduleExpiry(at time: NIODeadline) {
        channel.eventLoop.scheduleTask(deadline: time) { self.expire() }
    }

    private func expire() {
        let expired = queue.withLock { $0.expire(now: .now()) }
        if let timer = expired.timer { scheduleExpiry(at: timer) }
        metrics.timeouts.increment(by: expired.waiters.count)
        for waiter in expired.waiters {
            waiter.resume(returning: .failure(RedisError(.timedOut, "Redis did not answer in time.")))
        }
        if expired.isStalled {
            close(RedisError(.timedOut, "Redis has stopped answering."))
        }
    }

    // MARK: - From the channel

    /// Gives an answer to whom it belongs.
    func receive(_ reply: Reply) throws(RedisError) {
        if case .failure = reply { metrics.errors.increment() }
        switch queue.withLock({ $0.answer() }) {
        case .deliver(let waiter): waiter.resume(returning: reply)
        case .discard: break
        case .unexpected: throw RedisError(.protocolViolation, "The server answered what was not asked.")
        }
    }

    /// Ends the connection; whoever waits gets `reason` as a lost connection. Later calls change nothing.
    func close(_ reason: RedisError) {
        let waiters = queue.withLock { $0.close(reason) }
        let lost = RedisError(.connectionLost, reason.message, underlying: reason.underlying)
        for waiter in waiters {
            waiter.resume(returning: .failure(lost))
        }
        channel.close(promise: nil)
    }

    // MARK: - For the client

    /// Why the connection takes no more commands; `nil` while it does.
    var closure: RedisError? { queue.withLock { $0.closure } }

    /// Waits until the connection has ended. A cancelled task ends it.
    func waitUntilClosed() async {
        await withTaskCancellationHandler {
            try? await channel.closeFuture.get()
        } onCancel: {
            close(RedisError(.shutDown, "The client was shut down."))
        }
    }
}
