import NIOCore

/// The rules of one pipelined connection: commands go out in order, answers come back in the same order.
///
/// A pure state machine that returns actions to its caller. A command that was cancelled or timed out leaves its place
/// in the queue (a tombstone), so that its answer is discarded and not delivered to the next command.
///
/// `Waiter` identifies a waiting caller: a continuation, in tests a number.
struct RedisCommandQueue<Waiter: Sendable>: Sendable {
    private struct Command {
        let token: UInt64
        let deadline: NIODeadline
        /// `nil` is a tombstone.
        var waiter: Waiter?
    }

    enum Enqueued: Sendable {
        /// - Parameters:
        ///   - flush: whether the event loop must write the queued commands.
        ///   - timer: the time at which the event loop must call ``expire(now:)``; `nil` if an earlier timer is set.
        case accepted(flush: Bool, timer: NIODeadline?)
        case refused(RedisError)
    }

    struct Expired: Sendable {
        var waiters: [Waiter]
        /// When to call again.
        var timer: NIODeadline?
        /// Whether the server no longer answers, so that the connection must be closed.
        var isStalled: Bool
    }

    enum Answered: Sendable {
        case deliver(Waiter)
        /// The answer to a tombstone.
        case discard
        /// An answer without a command.
        case unexpected
    }

    private let limit: Int
    private let maximumTimeoutsInARow: Int
    /// The server must also have been silent for this long, so that a few short timeouts do not end a healthy
    /// connection.
    private let minimumSilence: TimeAmount
    private var commands = CircularBuffer<Command>(initialCapacity: 16)
    private var outbox = ByteBuffer()
    private var commandsInOutbox = 0
    /// The time of the earliest requested timer that has not fired.
    private var timer: NIODeadline?
    private var timeoutsInARow = 0
    /// The time since which the server has owed an answer and sent none.
    private var silentSince = NIODeadline.uptimeNanoseconds(0)
    private var hasAnsweredSinceExpiry = false
    /// Why the queue no longer accepts commands.
    private(set) var closure: RedisError?

    init(limit: Int, maximumTimeoutsInARow: Int, minimumSilence: TimeAmount) {
        self.limit = limit
        self.maximumTimeoutsInARow = maximumTimeoutsInARow
        self.minimumSilence = minimumSilence
    }

    /// Adds a command. Tombstones count towards the limit: the server still owes their answers.
    mutating func enqueue(
        _ arguments: [RedisArgument], token: UInt64, now: NIODeadline, deadline: NIODeadline, waiter: Waiter
    ) -> Enqueued {
        if let closure { return .refused(closure) }
        guard commands.count < limit else {
            return .refused(RedisError(.queueFull, "\(limit) commands wait for answers already."))
        }
        if commands.isEmpty { silentSince = now }
        if commandsInOutbox == 0 { outbox.reserveCapacity(512) }
        RedisArgument.write(arguments, to: &outbox)
        commandsInOutbox += 1
        commands.append(Command(token: token, deadline: deadline, waiter: waiter))
        let needsTimer = timer.map { deadline < $0 } ?? true
        if needsTimer { timer = deadline }
        return .accepted(flush: commandsInOutbox == 1, timer: needsTimer ? deadline : nil)
    }

    /// The bytes to write, and the number of their commands.
    mutating func takeOutbox() -> (bytes: ByteBuffer, commands: Int) {
        defer {
            outbox = ByteBuffer()
            commandsInOutbox = 0
        }
        return (outbox, commandsInOutbox)
    }

    /// Assigns an answer that has arrived to its command.
    mutating func answer() -> Answered {
        guard let command = commands.popFirst() else { return .unexpected }
        timeoutsInARow = 0
        hasAnsweredSinceExpiry = true
        return command.waiter.map { .deliver($0) } ?? .discard
    }

    /// Leaves a tombstone for the command, if it still waits.
    mutating func cancel(token: UInt64) -> Waiter? {
        guard let index = commands.lastIndex(where: { $0.token == token }) else { return nil }
        defer { commands[index].waiter = nil }
        return commands[index].waiter
    }

    /// Leaves tombstones for the commands whose deadline has passed.
    mutating func expire(now: NIODeadline) -> Expired {
        // An outdated timer: an earlier one has replaced it.
        if let timer, now < timer { return Expired(waiters: [], timer: nil, isStalled: false) }
        var waiters: [Waiter] = []
        timer = nil
        for index in commands.indices {
            guard let waiter = commands[index].waiter else { continue }
            let deadline = commands[index].deadline
            if deadline <= now {
                waiters.append(waiter)
                commands[index].waiter = nil
            } else {
                timer = timer.map { min($0, deadline) } ?? deadline
            }
        }
        if hasAnsweredSinceExpiry { silentSince = now }
        hasAnsweredSinceExpiry = false
        timeoutsInARow += waiters.count
        let isStalled = timeoutsInARow >= maximumTimeoutsInARow && now - silentSince >= minimumSilence
        return Expired(waiters: waiters, timer: timer, isStalled: isStalled)
    }

    /// Stops accepting commands and returns the waiters. The first reason stays.
    mutating func close(_ reason: RedisError) -> [Waiter] {
        if closure == nil { closure = reason }
        defer {
            commands.removeAll()
            outbox = ByteBuffer()
            commandsInOutbox = 0
            timer = nil
        }
        return commands.compactMap(\.waiter)
    }
}

/// Reads answers from the bytes of the channel and passes them to its `RedisConnection`.
final class RedisChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    let connection: RedisConnection
    private let reader: RedisReplyReader

    init(connection: RedisConnection, maximumReplyBytes: Int) {
        self.connection = connection
        self.reader = RedisReplyReader(maximumReplyBytes: maximumReplyBytes)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // The channel may deliver bytes after `close`, and a reader that has failed must not be used again.
        guard connection.closure == nil else { return }
        do {
            try reader.feed(unwrapInboundIn(data))
            while let reply = try reader.next() {
                try connection.receive(reply)
            }
        } catch {
            connection.close(error)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        connection.close(RedisError(.connectionLost, "The connection to Redis failed.", underlying: error))
    }

    func channelInactive(context: ChannelHandlerContext) {
        connection.close(RedisError(.connectionLost, "Redis closed the connection."))
        context.fireChannelInactive()
    }
}
