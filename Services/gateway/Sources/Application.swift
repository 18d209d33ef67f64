import Foundation
import GatehouseAccessTokens
import GatehouseInstruments
import GatehouseObservability
public import GatehouseServiceKit
public import GatehouseSettings
import GatehouseTokenValidation
import Logging
import Redis
import ServiceLifecycle

/// The public edge of Gatehouse.
public enum GatewayApplication: ServiceApplication {
    public static let name = "gateway"
    public static let defaultPort = 8080

    public static let exampleSettings = ["GATEWAY_REDIS_URL": "redis://localhost"]

    public static func configuration(from settings: Settings) -> GatewayConfiguration {
        GatewayConfiguration(settings)
    }

    public static func build(
        _ configuration: GatewayConfiguration, boot: ServiceBoot
    ) async throws -> ServiceAssembly {
        let keys = IssuerKeys(
            issuers: [configuration.issuer] + configuration.furtherIssuers.map(\.issuer),
            leeway: configuration.expiryLeeway)
        let revoked = RevokedSessions(
            maximumStaleness: configuration.revocationMaximumStaleness, leeway: configuration.expiryLeeway)
        let redis = configuration.redis.map {
            RedisClient(configuration: $0, eventLoopGroup: boot.eventLoopGroup, logger: boot.logger)
        }
        let limits = SharedLimits(redis: redis)
        let routes = try CurrentRoutes(configuration.table, limits: limits)
        let names = UpstreamNames(routes: routes, logger: boot.logger)
        let gateway = Gateway(
            settings: withinDescriptors(configuration.settings, boot), routes: routes, names: names, keys: keys,
            revoked: revoked, logger: boot.logger, limits: limits, tracer: boot.tracer,
            isStopping: { boot.readiness.isDraining })

        let tokens = ServiceClient(
            callee: "tokens", urls: configuration.tokensURLs, credential: configuration.tokensCredential,
            httpClient: boot.httpClient, dependencyTimeout: boot.dependencyTimeout)
        var services: [any Service] = redis.map { [$0] } ?? []
        let ownKeys =
            configuration.keysFile.map(IssuersFile.Keys.file)
            ?? .jwks(
                configuration.tokensURLs.map { $0.appending(path: ".well-known/jwks.json") })
        for (index, source) in ([ownKeys] + configuration.furtherIssuers.map(\.keys)).enumerated() {
            services.append(
                keyFetcher(source, of: index, store: keys, configuration.keysMaximumStaleness, boot))
        }
        services.append(
            RevocationFeedReader(
                sessions: revoked,
                metrics: RevocationFeedMetrics(
                    isLost: Gauge(
                        "gatehouse_gateway_revocation_feed_lost",
                        help: "1 while the revocation feed of tokens cannot be read."),
                    readAt: Gauge(
                        "gatehouse_gateway_revocation_feed_read_timestamp_seconds",
                        help: "When the revocation feed was last read to its end, in seconds since 1970."),
                    delay: DurationHistogram(
                        "gatehouse_gateway_revocation_delay_seconds",
                        help: "Time from a session's revocation until this gateway received it.")),
                live: Gauge(
                    "gatehouse_gateway_revoked_sessions", help: "Revoked sessions whose access tokens may still live."),
                logger: boot.logger,
                fetch: { try await tokens.accessRevocations(after: $0, waiting: $1) }))
        services += [names, gateway.health]
        services.append(
            RoutesFollower(source: configuration.routes, store: routes, names: names, logger: boot.logger))
        let certificate = try configuration.certificateFiles.map { files in
            try ServerCertificate(
                certificateFile: files.certificate, keyFile: files.key,
                expiry: gateway.metrics.certificateExpiry, logger: boot.logger)
        }
        if let certificate { services.append(certificate) }
        services.append(
            GatewayServer(
                gateway: gateway, certificate: certificate, group: boot.eventLoopGroup, host: boot.listenAddress.host,
                port: boot.listenAddress.port, grace: boot.shutdownGrace,
                onListening: { boot.listening.open($0) }))
        return ServiceAssembly(
            services: services,
            readiness: [
                ReadinessCheck("keys") { keys.isUsable(now: Int64(Date.now.timeIntervalSince1970)) },
                ReadinessCheck("revocations") { revoked.isUsable(now: Int64(Date.now.timeIntervalSince1970)) },
            ], methods: configuration.table.methods,
            admin: OperatorPage(
                gateway: gateway, replicas: ReplicaWatch(of: gateway, client: boot.httpClient),
                keyStates: KeyWatch(of: tokens), readiness: boot.readiness
            ).routes, boot: boot)
    }

    /// Lowers the limit of connections to the number of files that the process may have open.
    private static func withinDescriptors(_ settings: GatewaySettings, _ boot: ServiceBoot) -> GatewaySettings {
        // Each request in flight and each WebSocket has a connection to an upstream too.
        let limit = ConnectionLimit(
            wanted: settings.maximumConnections, descriptors: boot.descriptors,
            upstreams: settings.maximumRequestsInFlight + settings.maximumWebSockets)
        guard limit.soft < settings.maximumConnections else { return settings }
        boot.logger.notice(
            "the limit of open files lowers that of connections",
            metadata: [
                "openFiles": "\(boot.descriptors)", "maximumConnections": "\(limit.soft)",
                "wanted": "\(settings.maximumConnections)",
            ])
        var lowered = settings
        lowered.maximumConnections = limit.soft
        return lowered
    }

    private static func keyFetcher(
        _ source: IssuersFile.Keys, of issuer: Int, store: IssuerKeys<TrustedIssuer>, _ maximumStaleness: Int64,
        _ boot: ServiceBoot
    ) -> KeyFetcher<TrustedIssuer> {
        let (interval, fetch): (Duration, @Sendable () async throws -> VerificationKeySet) =
            switch source {
            // Reading a file costs little, and the gateway is not notified of changes.
            case .file(let file): (.seconds(5), { try file.read() })
            case .jwks(let urls):
                (
                    KeyFetcher<TrustedIssuer>.interval(ofStaleness: maximumStaleness),
                    PublishedKeys(
                        addresses: urls, client: boot.httpClient,
                        unusable: UnusableKeys(
                            issuer: store.issuers[issuer].issuer,
                            number: Gauge(
                                "gatehouse_gateway_unusable_keys",
                                help: "Keys that an issuer publishes and the gateway cannot use.",
                                labels: [("issuer", store.issuers[issuer].issuer)]),
                            logger: boot.logger)
                    ).read
                )
            }
        return KeyFetcher(
            store: store, issuer: issuer, maximumStaleness: maximumStaleness, logger: boot.logger, interval: interval,
            fetch: fetch)
    }
}
