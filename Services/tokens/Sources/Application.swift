import GatehouseAccessTokens
import GatehouseLimits
import GatehouseObservability
public import GatehouseServiceKit
public import GatehouseSettings
import Logging
public import Postgres
import Redis
public import ServiceKitPostgres

/// The tokens service: sessions, refresh rotation, the signing key, revocation.
public enum TokensApplication: MigratingApplication {
    public static let name = "tokens"
    public static let defaultPort = 8082

    public static var migrations: PostgresMigrations { Migrations.all }

    public static var exampleSettings: [String: String] {
        get throws {
            [
                "TOKENS_SIGNING_KEY": try RSAPrivateKey.generate().pem, "TOKENS_ISSUER": "https://localhost",
                "TOKENS_REDIS_URL": "redis://localhost",
            ]
        }
    }

    public static func configuration(from settings: Settings) throws(SettingsError) -> TokensConfiguration {
        try TokensConfiguration(settings: settings)
    }

    public static func build(
        _ configuration: TokensConfiguration, boot: ServiceBoot
    ) async throws -> ServiceAssembly {
        var databaseConfiguration = configuration.database
        databaseConfiguration.pool.check = DatabaseOriginStore.check
        databaseConfiguration.connection.usesGenericPlans = true
        let database = databaseConfiguration.pool(logger: boot.logger, tracer: boot.tracer)
        var redisConfiguration = configuration.redis
        redisConfiguration.onCommand = DatabaseSpans.redisCommands(
            at: redisConfiguration.host, redisConfiguration.port, boot.tracer)
        let redis = RedisClient(
            configuration: redisConfiguration, eventLoopGroup: boot.eventLoopGroup, logger: boot.logger)
        let keys = configuration.refreshKeys
        keys.registerMetrics()
        let feed = RevocationFeed(database: database, logger: boot.logger)
        let store = SessionStore(
            database: database, lifetimes: configuration.lifetimes, didRevoke: { feed.sequencer.wake() })
        let signingKeySource = try SigningKeySource(
            configuration.signingKeys, file: configuration.signingKeyFile, issuer: configuration.issuer,
            audience: configuration.audience, logger: boot.logger)
        let issuer = TokenIssuer(
            keys: signingKeySource, issuer: configuration.issuer,
            audience: configuration.audience, clientID: configuration.clientID,
            accessLifetime: Int64(configuration.lifetimes.access), logger: boot.logger)
        // Each replica counts on its own. Counting in Redis would add a command to every refresh, and the limit only
        // stops a broken app.
        let limit = configuration.refreshLimit.map {
            TokenBuckets<String>(
                bucket: TokenBucket(capacity: $0.burst, refillPerSecond: Double($0.perSecond)))
        }
        let unknownKeyLimit = configuration.refreshLimit.map { _ in UnknownKeyLimit() }
        let refresher = Refresher(
            rules: configuration.rules, keys: keys, store: store, lock: RaceLock(redis: redis), issuer: issuer,
            logger: boot.logger, refreshLimit: limit, unknownKeyLimit: unknownKeyLimit)
        let accessTokens = AccessTokenReader(keys: signingKeySource)
        let revoker = TokenRevoker(
            keys: keys, accessTokens: accessTokens, store: store, unknownKeyLimit: unknownKeyLimit)
        let introspector = Introspector(
            rules: configuration.rules, keys: keys, accessTokens: accessTokens, store: store,
            issuer: configuration.issuer, clientID: configuration.clientID)

        let router = ServiceRouter()
        RefreshRoutes(refresher: refresher).add(to: router)
        SessionRoutes(revoker: revoker, store: store).add(to: router)
        OAuthRoutes(refresher: refresher, revoker: revoker, clientID: configuration.clientID).add(to: router)
        try WellKnownRoutes(issuer: configuration.issuer, keys: signingKeySource).add(to: router)
        InternalRoutes(
            store: store, feed: feed, keys: keys, issuer: issuer, signingKeys: signingKeySource,
            sessionLimit: configuration.sessionLimit
        ).add(to: router)

        IntrospectionRoutes(introspector: introspector, credentials: configuration.credentials).add(to: router)

        let purger = SweepStore(sessions: store, revocationRetention: configuration.revocationRetention)
            .purger(logger: boot.logger)
        let watch = DatabaseWatch(
            service: name, database: database, expiry: SweepStore.firstExpiry, logger: boot.logger)
        // Readiness does not depend on Redis: Redis only saves work, and every request is served without it.
        return ServiceAssembly(
            services: [database, redis, feed.sequencer, purger, watch, signingKeySource],
            readiness: [ReadinessCheck("postgres") { await database.probe() }], router: router,
            credentials: configuration.credentials, descriptors: database.maximumDescriptors, boot: boot)
    }
}
