import AccessToken
import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import Redis
public import ServiceKit
import ServiceLifecycle

/// Gatehouse's public edge.
public enum GatewayApplication: ServiceApplication {
    public static let name = "gateway"
    public static let defaultPort = 8080

    public static func configuration(from settings: Settings) -> GatewayConfiguration {
        GatewayConfiguration(settings)
    }

    public static func build(
        _ configuration: GatewayConfiguration, boot: ServiceBoot
    ) async throws -> ServiceAssembly {
        let keys = KeyStore(
            issuer: configuration.issuer, audience: configuration.audience, leeway: configuration.expiryLeeway)
        let revoked = RevokedSessions(
            maximumStaleness: configuration.revocationMaximumStaleness, leeway: configuration.expiryLeeway)
        let redis = configuration.redis.map {
            RedisClient(configuration: $0, eventLoopGroup: boot.eventLoopGroup, logger: boot.logger)
        }
        let routes = RouteStore(configuration.table)
        let names = UpstreamNames(routes: routes, logger: boot.logger)
        let gateway = Gateway(
            settings: withinDescriptors(configuration.settings, boot.logger), routes: routes, names: names, keys: keys,
            revoked: revoked, logger: boot.logger,
            sharing: { limit in
                redis.map {
                    RedisTokenBucket(
                        client: $0, name: "gateway:sign-in", capacity: limit.capacity,
                        refillPerSecond: limit.perSecond)
                }
            })

        let tokens = ServiceClient(
            callee: "tokens", urls: configuration.tokensURLs, credential: configuration.tokensCredential,
            httpClient: boot.httpClient, patience: boot.patience)
        var services: [any Service] = redis.map { [$0] } ?? []
        services.append(
            KeyFetcher(
                store: keys, maximumStaleness: configuration.keysMaximumStaleness, logger: boot.logger,
                // A file is read in no time, and nobody tells when it changes.
                interval: .seconds(configuration.keysFile == nil ? 300 : 5),
                fetch: configuration.keysFile?.read ?? jwks(configuration.tokensURLs, boot.httpClient)))
        services.append(
            RevocationFeed(
                sessions: revoked, logger: boot.logger,
                fetch: { try await tokens.revocations(after: $0, waiting: $1) }))
        services.append(names)
        services.append(
            RoutesFollower(source: configuration.routes, store: routes, names: names, logger: boot.logger))
        let certificate = try configuration.certificateFiles.map { files in
            try ServerCertificate(certificateFile: files.certificate, keyFile: files.key, logger: boot.logger)
        }
        if let certificate { services.append(certificate) }
        services.append(
            GatewayServer(
                gateway: gateway, certificate: certificate, group: boot.eventLoopGroup, host: boot.listenAddress.host,
                port: boot.listenAddress.port, isStopping: { boot.readiness.isDraining },
                onListening: { boot.listening.open($0) }))
        return ServiceAssembly(
            services: services,
            readiness: [
                ReadinessCheck("keys") { keys.isUsable(now: Int64(Date.now.timeIntervalSince1970)) },
                ReadinessCheck("revocations") { revoked.isUsable(now: Int64(Date.now.timeIntervalSince1970)) },
            ], boot: boot)
    }

    /// Takes no more connections than the process may have files open.
    private static func withinDescriptors(_ settings: GatewaySettings, _ logger: Logger) -> GatewaySettings {
        let descriptors = FileDescriptors.raiseLimit()
        // A request in flight has one connection to its upstream, and so has a WebSocket.
        let limit = ConnectionLimit(
            wanted: settings.maximumConnections, descriptors: descriptors,
            upstreams: settings.maximumRequestsInFlight + settings.maximumWebSockets)
        guard limit.soft < settings.maximumConnections else { return settings }
        logger.notice(
            "the limit of open files lowers that of connections",
            metadata: [
                "openFiles": "\(descriptors)", "maximumConnections": "\(limit.soft)",
                "wanted": "\(settings.maximumConnections)",
            ])
        var lowered = settings
        lowered.maximumConnections = limit.soft
        return lowered
    }

    /// Reads the JWKS from any replica of tokens.
    private static func jwks(
        _ urls: [URL], _ client: HTTPClient
    ) -> @Sendable () async throws -> VerificationKeySet {
        {
            guard let base = urls.randomElement()?.absoluteString else { throw NoAddress() }
            let slash = base.hasSuffix("/") ? "" : "/"
            let response = try await client.execute(
                HTTPClientRequest(url: "\(base)\(slash).well-known/jwks.json"), timeout: .seconds(5))
            guard response.status == .ok else { throw UnexpectedStatus(status: Int(response.status.code)) }
            return try VerificationKeySet(jwks: Array(buffer: try await response.body.collect(upTo: 1 << 20)))
        }
    }

    private struct NoAddress: Error {}

    private struct UnexpectedStatus: Error {
        var status: Int
    }
}
