import GatehouseInstruments
import GatehouseLimits
public import Logging
public import NIOCore
public import ServiceLifecycle
import Synchronization

/// A Redis client with one pipelined connection, which it opens again whenever it ends.
///
/// Run it (``run()``), in a task or in a `ServiceGroup`; then send commands from any task or thread. Commands of all
/// tasks share the connection and are answered in the order in which they were sent, so commands that block (`BLPOP`,
/// `WAIT`) or change the connection's mode (`SUBSCRIBE`, `MONITOR`, `MULTI`, `SELECT`) do not belong here; scripts
/// (``RedisScript``) do what `MULTI` would.
///
/// No call waits longer than its timeout. A command that is sent before the first connection is open, or just after the
/// server has closed it, waits for a connection. After an attempt to connect has failed, commands fail at once with an
/// error whose ``RedisError/isUnavailable`` is true, until an attempt succeeds. The client never repeats a command
/// whose outcome is unknown.
public final class RedisClient: Service, Sendable {
    private typealias ConnectionWaiter = CheckedContinuation<Result<RedisConnection, RedisError>, Never>

    private enum Phase {
        /// Nothing has failed yet: commands wait.
        case connecting
        case connected(RedisConnection)
        /// The last attempt failed, or the server has stopped answering: commands fail at once.
        case unavailable(RedisError)
        case shutDown
    }

    private struct State {
        var phase = Phase.connecting
        var waiters: [UInt64: ConnectionWaiter] = [:]
        var lastWaiter: UInt64 = 0
    }

    /// The configuration of the client.
    public let configuration: RedisConfiguration
    private let eventLoop: any EventLoop
    private let logger: Logger
    private let metrics = RedisMetrics()
    private let state = Mutex(State())

    /// - Parameter eventLoopGroup: one of its loops does all the client's input and output.
    public init(configuration: RedisConfiguration, eventLoopGroup: any EventLoopGroup, logger: Logger) {
        self.configuration = configuration
        self.eventLoop = eventLoopGroup.next()
        self.logger = logger
    }

    /// Sends one command and waits for its answer: `try await redis.send("SET", "key", "\(value)", "PX", 500)`.
    ///
    /// - Parameter timeout: `nil` uses the configuration's. It includes the wait for a connection.
    /// - Throws: ``RedisError``; an error answer has the code ``RedisError/Code/server``.
    @discardableResult
    public func send(_ arguments: RedisArgument..., timeout: Duration? = nil) async throws(RedisError) -> RedisValue {
        try await send(arguments, timeout: timeout)
    }

    /// Sends one command, given as a list of its words, and waits for its answer.
    ///
    /// - Parameter timeout: `nil` uses the configuration's. It includes the wait for a connection.
    /// - Throws: ``RedisError``; an error answer has the code ``RedisError/Code/server``.
    @discardableResult
    public func send(_ arguments: [RedisArgument], timeout: Duration? = nil) async throws(RedisError) -> RedisValue {
        precondition(!arguments.isEmpty, "a command has a name")
        let end = configuration.onCommand?(arguments[0].text ?? "UNKNOWN")
        do throws(RedisError) {
            let value = try await perform(arguments, timeout: timeout)
            end?(nil)
            return value
        } catch {
            end?(error.serverCode ?? error.code.rawValue)
            throw error
        }
    }

    private func perform(_ arguments: [RedisArgument], timeout: Duration?) async throws(RedisError) -> RedisValue {
        let deadline = NIODeadline.now() + TimeAmount(timeout ?? configuration.commandTimeout)
        let connection = try await openConnection(deadline: deadline)
        do {
            return try await connection.send(arguments, deadline: deadline).get()
        } catch let error where error.isReadOnly {
            // The primary has become a replica. The name may resolve to the new primary now.
            connection.close(error)
            throw error
        }
    }

    /// Whether the server answers a `PING`.
    public func probe() async -> Bool {
        (try? await send("PING")) != nil
    }

    /// Whether there is a connection at the moment.
    public var isConnected: Bool {
        state.withLock { state in
            guard case .connected(let connection) = state.phase else { return false }
            return connection.closure == nil
        }
    }

    // MARK: - The wait for a connection

    private func openConnection(deadline: NIODeadline) async throws(RedisError) -> RedisConnection {
        let found = try state.withLock { state throws(RedisError) -> RedisConnection? in
            switch state.phase {
            case .connected(let connection):
                guard let closure = connection.closure else { return connection }
                if let refusal = Self.refusal(after: closure) { throw refusal }
                return nil
            case .connecting: return nil
            case .unavailable(let error): throw error
            case .shutDown: throw .clientShutDown
            }
        }
        return if let found { found } else { try await nextConnection(deadline: deadline) }
    }

    private func nextConnection(deadline: NIODeadline) async throws(RedisError) -> RedisConnection {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                addWaiter(waiter, id: id)
                let timedOut = RedisError(.timedOut, "Redis could not be reached in time.")
                eventLoop.scheduleTask(deadline: deadline) { self.resumeWaiter(id, .failure(timedOut)) }
                if Task.isCancelled { cancelWaiter(id) }
            }
        } onCancel: {
            cancelWaiter(id)
        }
        return try result.get()
    }

    private func addWaiter(_ waiter: ConnectionWaiter, id: UInt64) {
        let settled: Result<RedisConnection, RedisError>? = state.withLock { state in
            switch state.phase {
            case .connected(let connection):
                guard let closure = connection.closure else { return .success(connection) }
                if let refusal = Self.refusal(after: closure) { return .failure(refusal) }
            case .connecting: break
            case .unavailable(let error): return .failure(error)
            case .shutDown: return .failure(.clientShutDown)
            }
            guard state.waiters.count < configuration.maximumPendingCommands else {
                return .failure(RedisError(.queueFull, "Too many commands wait for a connection already."))
            }
            state.waiters[id] = waiter
            return nil
        }
        if let settled { waiter.resume(returning: settled) }
    }

    /// The error of a command that finds the connection closing, as ``keepConnected()`` decides once it is closed.
    ///
    /// - Returns: `nil` when the command waits for the next connection.
    private static func refusal(after closure: RedisError) -> RedisError? {
        switch closure.code {
        case .connectionLost: nil
        case .shutDown: .clientShutDown
        default: .notConnected(since: closure)
        }
    }

    private func resumeWaiter(_ id: UInt64, _ result: Result<RedisConnection, RedisError>) {
        state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: result)
    }

    private func cancelWaiter(_ id: UInt64) {
        resumeWaiter(id, .failure(RedisError(.cancelled, "The calling task was cancelled.")))
    }

    // MARK: - Keeping the connection

    /// Keeps the connection open until the task is cancelled or, in a `ServiceGroup`, a graceful shutdown begins.
    /// Afterwards commands fail. Call it once.
    public func run() async {
        await cancelWhenGracefulShutdown { await self.keepConnected() }
        enter(.shutDown, waiters: .failure(.clientShutDown))
    }

    private func keepConnected() async {
        var failures = 0
        // The error of the last failed attempt. A repeated error is not logged again.
        var logged: String?
        while !Task.isCancelled {
            do {
                let connection = try await RedisConnection.connect(configuration, on: eventLoop, metrics: metrics)
                logger.info("Connected to Redis.")
                logged = nil
                enter(.connected(connection), waiters: .success(connection))
                let opened = ContinuousClock.now
                await connection.waitUntilClosed()
                let reason = connection.closure ?? RedisError(.connectionLost, "The connection to Redis ended.")
                guard !Task.isCancelled else { return }
                logger.warning("Lost the connection to Redis.", metadata: ["error": "\(reason)"])
                metrics.connectionFailures.increment()
                let wasStable = opened.duration(to: .now) >= configuration.backoff.maximum
                failures = wasStable ? 1 : failures + 1
                if failures == 1, reason.code == .connectionLost {
                    // A server that closes idle connections, or has just restarted.
                    enter(.connecting, waiters: nil)
                    continue
                }
                enter(.unavailable(.notConnected(since: reason)), waiters: .failure(.notConnected(since: reason)))
            } catch {
                guard !Task.isCancelled else { return }
                if logged != "\(error)" { logger.warning("Redis is not available.", metadata: ["error": "\(error)"]) }
                logged = "\(error)"
                metrics.connectionFailures.increment()
                failures += 1
                enter(.unavailable(.notConnected(since: error)), waiters: .failure(.notConnected(since: error)))
            }
            try? await Task.sleep(for: configuration.backoff.delay(afterFailures: failures))
        }
    }

    /// - Parameter waiters: the result for callers that wait for a connection; `nil` lets them continue to wait.
    private func enter(_ phase: Phase, waiters result: Result<RedisConnection, RedisError>?) {
        let waiters = state.withLock { state in
            state.phase = phase
            guard result != nil else { return [UInt64: ConnectionWaiter]() }
            defer { state.waiters = [:] }
            return state.waiters
        }
        guard let result else { return }
        for waiter in waiters.values {
            waiter.resume(returning: result)
        }
    }
}

extension RedisError {
    fileprivate static let clientShutDown = RedisError(.shutDown, "The client was shut down.")

    fileprivate static func notConnected(since reason: RedisError) -> RedisError {
        RedisError(.notConnected, "Redis is not available: \(reason.message)", underlying: reason)
    }

    fileprivate var isReadOnly: Bool { serverCode == "READONLY" }
}

extension RedisClient {
    /// The server's answer to `INFO`, over a connection that is closed afterwards.
    ///
    /// - Parameter timeout: for connecting and answering together.
    /// - Throws: the error of the socket or TLS if no connection was opened. Otherwise an error whose description is a
    ///   sentence without its full stop, in the server's own words if it refused.
    public static func info(
        of configuration: RedisConfiguration, on eventLoopGroup: any EventLoopGroup, logger: Logger,
        timeout: Duration = .seconds(3)
    ) async throws -> String {
        let client = RedisClient(configuration: configuration, eventLoopGroup: eventLoopGroup, logger: logger)
        let running = Task { await client.run() }
        defer { running.cancel() }
        do {
            return try await client.send("INFO", timeout: timeout).string ?? ""
        } catch {
            throw error.cause
        }
    }
}

extension RedisError {
    /// The original error, without the errors that wrap it.
    fileprivate var cause: any Error {
        guard let underlying else {
            return Sentence(description: message.hasSuffix(".") ? String(message.dropLast()) : message)
        }
        return (underlying as? RedisError)?.cause ?? underlying
    }

    private struct Sentence: Error, CustomStringConvertible {
        let description: String
    }
}

/// The metrics of a client.
struct RedisMetrics: Sendable {
    let commands = Counter(
        "redis_commands_total", help: "Commands written to a connection, the ones that open it included.")
    let errors = Counter("redis_errors_total", help: "Error answers.")
    let timeouts = Counter("redis_timeouts_total", help: "Commands without an answer in time.")
    let connects = Counter("redis_connects_total", help: "Connections that were opened.")
    let connectionFailures = Counter(
        "redis_connection_failures_total",
        help: "Connections that ended, and attempts that failed, but for a shutdown.")
}
