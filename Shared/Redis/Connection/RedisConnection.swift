import GatehouseInstruments
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// One pipelined connection, from connected to closed. Safe to use from any task and thread.
///
/// Callers add commands to a queue under a lock. The event loop writes all queued commands together, and resumes each
/// caller when its answer has been read.
final class RedisConnection: Sendable {
    typealias Reply = Result<RedisValue, RedisError>
    /// Unsafe, because the checks of a checked continuation would cost time for every command. `RedisCommandQueue`
    /// returns each waiter exactly once.
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

    /// Sends a command and waits for its answer. Never throws, but returns the error.
    func send(_ arguments: [RedisArgument], deadline: NIODeadline) async -> Reply {
        // Once the command is queued, the event loop may send it before the cancellation takes effect.
        guard !Task.isCancelled else { return .failure(Self.cancelled) }
        let now = NIODeadline.now()
        let token = lastToken.wrappingAdd(1, ordering: .relaxed).newValue
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in
                enqueue(arguments, token: token, now: now, deadline: deadline, waiter: waiter)
                // The handler may have run before the command was queued.
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

    /// Resumes the caller that waits for this reply.
    func receive(_ reply: Reply) throws(RedisError) {
        if case .failure = reply { metrics.errors.increment() }
        switch queue.withLock({ $0.answer() }) {
        case .deliver(let waiter): waiter.resume(returning: reply)
        case .discard: break
        case .unexpected: throw RedisError(.protocolViolation, "The server sent an answer without a command.")
        }
    }

    /// Ends the connection. Waiting callers get `reason` as a lost connection. Later calls change nothing.
    func close(_ reason: RedisError) {
        let waiters = queue.withLock { $0.close(reason) }
        let lost = RedisError(.connectionLost, reason.message, underlying: reason.underlying)
        for waiter in waiters {
            waiter.resume(returning: .failure(lost))
        }
        channel.close(promise: nil)
    }

    // MARK: - For the client

    /// Why the connection no longer accepts commands; `nil` while it does.
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

extension RedisConnection {
    /// Opens a connection, encrypted and authenticated as configured, on which the server has answered a `PING`.
    static func connect(
        _ configuration: RedisConfiguration, on eventLoop: any EventLoop, metrics: RedisMetrics
    ) async throws(RedisError) -> RedisConnection {
        let deadline = NIODeadline.now() + TimeAmount(configuration.connectTimeout)
        let connection = try await open(configuration, on: eventLoop, metrics: metrics)
        do {
            try await connection.handshake(configuration, deadline: deadline)
        } catch {
            connection.close(error)
            throw error
        }
        metrics.connects.increment()
        return connection
    }

    private static func open(
        _ configuration: RedisConfiguration, on eventLoop: any EventLoop, metrics: RedisMetrics
    ) async throws(RedisError) -> RedisConnection {
        do {
            let tls = try configuration.tls.map { try TLSClient($0, host: configuration.host) }
            return try await ClientBootstrap(group: eventLoop)
                .connectTimeout(TimeAmount(configuration.connectTimeout))
                .channelOption(.socketOption(.so_keepalive), value: 1)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        if let tls { try pipeline.addHandler(tls.makeHandler()) }
                        let connection = RedisConnection(
                            channel: channel, configuration: configuration, metrics: metrics)
                        try pipeline.addHandler(
                            RedisChannelHandler(
                                connection: connection, maximumReplyBytes: configuration.maximumReplyBytes))
                    }
                }
                .connect(host: configuration.host, port: configuration.port)
                .flatMapThrowing { channel in
                    try channel.pipeline.syncOperations.handler(type: RedisChannelHandler.self).connection
                }
                .get()
        } catch {
            throw RedisError(
                .notConnected, "No connection to Redis at \(configuration.host):\(configuration.port).",
                underlying: error)
        }
    }

    /// The first commands of a new connection. An error reply ends the connection.
    private func handshake(_ configuration: RedisConfiguration, deadline: NIODeadline) async throws(RedisError) {
        if let password = configuration.password {
            let user = configuration.user.map { [RedisArgument($0)] } ?? []
            do {
                _ = try await send(["AUTH"] + user + [RedisArgument(password)], deadline: deadline).get()
            } catch {
                throw error.code == .server
                    ? RedisError(serverMessage: error.message, code: .authenticationFailed) : error
            }
        }
        if let name = configuration.clientName {
            _ = try await send(["CLIENT", "SETNAME", RedisArgument(name)], deadline: deadline).get()
        }
        if configuration.database != 0 {
            _ = try await send(["SELECT", RedisArgument(configuration.database)], deadline: deadline).get()
        }
        do {
            _ = try await send(["PING"], deadline: deadline).get()
        } catch {
            throw error.serverCode == "NOAUTH"
                ? RedisError(serverMessage: error.message, code: .authenticationFailed) : error
        }
        if try await infoContains("cluster_enabled:1", of: "cluster", deadline: deadline) {
            throw RedisError(.notConnected, "The server is a node of a Redis Cluster, which is not supported.")
        }
        if try await infoContains("redis_mode:sentinel", of: "server", deadline: deadline) {
            throw RedisError(
                .notConnected, "The server is a Redis Sentinel, which is not supported: give the primary's address.")
        }
        // At the next attempt the name may resolve to the primary.
        if try await infoContains("role:slave", of: "replication", deadline: deadline) {
            throw RedisError(.notConnected, "The server is a replica, which takes no writes.")
        }
    }

    /// Whether a section of the server's `INFO` has a line; `false` if the user may not call `INFO`.
    private func infoContains(
        _ line: String, of section: RedisArgument, deadline: NIODeadline
    ) async throws(RedisError) -> Bool {
        do {
            let info = try await send(["INFO", section], deadline: deadline).get()
            return info.string?.split(whereSeparator: \.isNewline).contains { $0.utf8.elementsEqual(line.utf8) }
                ?? false
        } catch {
            guard error.code == .server else { throw error }
            return false
        }
    }
}

/// TLS towards one host (NIOSSL).
private struct TLSClient: Sendable {
    private let context: NIOSSLContext
    private let serverName: String?

    init(_ configuration: RedisConfiguration.TLS, host: String) throws {
        var settings = TLSConfiguration.makeClientConfiguration()
        settings.minimumTLSVersion = .tlsv12
        // For the server's `close_notify`, which a server that has stopped answering does not send.
        settings.shutdownTimeout = .seconds(1)
        settings.certificateVerification = configuration.verifiesHostname ? .fullVerification : .noHostnameVerification
        if let file = configuration.trustRootsFile { settings.trustRoots = .file(file) }
        context = try NIOSSLContext(configuration: settings)
        // Server Name Indication does not permit addresses (RFC 6066 §3). The certificate is then verified against the
        // address itself.
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        serverName = isAddress ? nil : host
    }

    func makeHandler() throws -> NIOSSLClientHandler {
        try NIOSSLClientHandler(context: context, serverHostname: serverName)
    }
}
