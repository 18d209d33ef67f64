import Instruments
import NIOCore
import NIOPosix
import NIOSSL

extension RedisConnection {
    /// Opens a connection, encrypted and authenticated as configured, on which the server has answered a `PING`.
    static func connect(
        _ configuration: RedisConfiguration, on eventLoop: any EventLoop, metrics: RedisMetrics
    ) async throws(RedisError) -> RedisConnection {
        let deadline = NIODeadline.now() + TimeAmount(configuration.connectTimeout)
        let connection = try await open(configuration, on: eventLoop, metrics: metrics)
        do {
            try await connection.shakeHands(configuration, deadline: deadline)
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

    /// What a new connection says first. Answers that are errors end it.
    private func shakeHands(_ configuration: RedisConfiguration, deadline: NIODeadline) async throws(RedisError) {
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
        if try await tells("cluster_enabled:1", of: "cluster", deadline: deadline) {
            throw RedisError(.notConnected, "The server is a node of a Redis Cluster, which is not supported.")
        }
        if try await tells("redis_mode:sentinel", of: "server", deadline: deadline) {
            throw RedisError(
                .notConnected, "The server is a Redis Sentinel, which is not supported: give the primary's address.")
        }
        // The name may lead to the primary by the next attempt.
        if try await tells("role:slave", of: "replication", deadline: deadline) {
            throw RedisError(.notConnected, "The server is a replica, which takes no writes.")
        }
    }

    /// Whether a section of what the server tells of itself has a line; not where it may not be asked.
    private func tells(
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
        settings.certificateVerification = configuration.verifiesHostname ? .fullVerification : .noHostnameVerification
        if let file = configuration.trustRootsFile { settings.trustRoots = .file(file) }
        context = try NIOSSLContext(configuration: settings)
        // Server Name Indication has no place for addresses (RFC 6066 §3); the certificate is then checked
        // against the address itself.
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        serverName = isAddress ? nil : host
    }

    func makeHandler() throws -> NIOSSLClientHandler {
        try NIOSSLClientHandler(context: context, serverHostname: serverName)
    }
}
