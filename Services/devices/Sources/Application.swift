import GatehouseObservability
public import GatehouseServiceKit
public import GatehouseSettings
import Logging
public import Postgres
public import ServiceKitPostgres
import ServiceLifecycle

/// The devices service: which push address belongs to which user.
public enum DevicesApplication: MigratingApplication {
    public static let name = "devices"
    public static let defaultPort = 8083

    public static var migrations: PostgresMigrations { Migrations.all }

    public static func configuration(from settings: Settings) -> DevicesConfiguration {
        DevicesConfiguration(settings: settings)
    }

    public static func build(
        _ configuration: DevicesConfiguration, boot: ServiceBoot
    ) async throws -> ServiceAssembly {
        let push = configuration.push
        // Without keys too, so that its metrics are described.
        let pools = try APNsConnectionPools(
            keys: push.keys, endpoints: push.endpoints, eventLoopGroup: boot.eventLoopGroup, logger: boot.logger)
        return assemble(
            configuration, boot: boot, pushService: push.keys.isEmpty ? nil : pools,
            channels: { await pools.send(.channels($0)) })
    }

    /// - Parameters:
    ///   - pushService: sends pushes, and runs for longer than the sender. Without one pushes are refused.
    ///   - channels: sends requests about channels.
    static func assemble(
        _ configuration: DevicesConfiguration, boot: ServiceBoot, pushService: (any PushService & Service)?,
        channels: @escaping @Sendable (ChannelRequest) async -> SendOutcome
    ) -> ServiceAssembly {
        var databaseConfiguration = configuration.database
        databaseConfiguration.connection.usesGenericPlans = true
        // Dry runs have a connection of their own, out of those of the service.
        var dryRunConfiguration = databaseConfiguration
        let sharesConnections = databaseConfiguration.pool.maximumConnections < 3
        if !sharesConnections {
            databaseConfiguration.pool.maximumConnections -= 1
            dryRunConfiguration.pool.maximumConnections = 1
            dryRunConfiguration.pool.reservedConnections = 0
            dryRunConfiguration.pool.name = "\(name)-dry-runs"
        }
        let database = databaseConfiguration.pool(logger: boot.logger, tracer: boot.tracer)
        let dryRuns =
            sharesConnections ? nil : dryRunConfiguration.pool(logger: boot.logger, tracer: boot.tracer)
        let devices = DeviceStore(database: database)
        let protection = PushTokenProtection(
            hashKey: configuration.tokenHashKey, sealingKeys: configuration.tokenKeys)
        let lastSeen = LastSeenWriter(database: database, logger: boot.logger)
        let registrations = RegistrationStore(database: database, protection: protection, lastSeen: lastSeen)
        configuration.registerMetrics()

        let activity = PushActivity()
        let pushes = PushStore(
            database: database, dryRuns: dryRuns, unseen: configuration.unseen, bulkLimit: configuration.push.bulkLimit,
            logger: boot.logger)
        let outcomes = PushOutcomeFeed(database: database, logger: boot.logger)
        let router = ServiceRouter()
        DeviceRoutes(store: devices, registrations: registrations, timeZones: .system()).add(to: router)
        UserRoutes(store: devices).add(to: router)
        let pushRoutes = PushRoutes(
            store: pushes, outcomes: outcomes, callers: configuration.push.callers,
            templates: configuration.push.templates, activity: activity, queueLimit: configuration.push.queueLimit,
            canSend: pushService != nil)
        pushRoutes.add(to: router)
        OperatorPushRoutes(pushes: pushRoutes, devices: devices).add(to: router)
        PushChannelRoutes(store: PushChannelStore(database: database), pushes: pushRoutes, send: channels)
            .add(to: router)
        UserTagRoutes(store: UserTagStore(database: database), callers: configuration.push.callers)
            .add(to: router)

        let tokens = ServiceClient(
            callee: "tokens", urls: configuration.tokensURLs, credential: configuration.tokensCredential,
            httpClient: boot.httpClient, dependencyTimeout: boot.dependencyTimeout)
        let consumer = RevocationConsumer(
            tokens: tokens, store: RevokedSessionStore(database: database), activity: activity, logger: boot.logger)
        let metrics = PushMetrics()
        var services: [any Service] = [
            database, lastSeen, consumer, outcomes.sequencer,
            ExpiredRegistrationStore(database: database, unseen: configuration.unseen).purger(logger: boot.logger),
            DatabaseWatch(service: name, database: database, logger: boot.logger),
        ]
        if let dryRuns { services.insert(dryRuns, at: 0) }
        if let pushService {
            let liveness = SessionLiveness(maximumStaleness: configuration.push.limits.maximumStaleness) {
                try await tokens.liveSessions(among: $0, timeout: SessionLiveness.timeout)
            }
            let delivery = PushDelivery(
                queue: PushQueueStore(database: database), pushService: pushService, liveness: liveness,
                protection: protection,
                rules: DeliveryRules(retryDelay: Double(configuration.push.retryDelay), unseen: configuration.unseen),
                limits: configuration.push.limits, metrics: metrics, logger: boot.logger)
            let sender = PushSender(delivery: delivery, activity: activity, starter: PushStarter(database: database))
            let bulk = BulkSender(delivery: delivery, activity: activity, slices: pushes.slices)
            // The last one stops first.
            services += [pushService, sender, bulk]
        }

        return ServiceAssembly(
            services: services,
            readiness: [ReadinessCheck("postgres") { await database.probe() }], router: router,
            credentials: configuration.credentials,
            descriptors: database.maximumDescriptors + (dryRuns?.maximumDescriptors ?? 0), boot: boot)
    }
}
