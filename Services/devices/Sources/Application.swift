import Logging
import Observability
public import Postgres
public import ServiceKit
public import ServiceKitPostgres
public import Settings

/// The devices service: which push address belongs to which user.
public enum DevicesApplication: MigratingApplication {
    public static let name = "devices"
    public static let defaultPort = 8083

    public static var migrations: [PostgresMigration] { Migrations.all }

    public static func configuration(from settings: Settings) -> DevicesConfiguration {
        DevicesConfiguration(settings: settings)
    }

    public static func build(
        _ configuration: DevicesConfiguration, boot: ServiceBoot
    ) async throws -> ServiceAssembly {
        let database = configuration.database.pool(logger: boot.logger, tracing: boot.tracing)
        let devices = DeviceStore(database: database)
        let registrations = RegistrationStore(
            database: database,
            protection: PushTokenProtection(
                hashKey: configuration.tokenHashKey, sealingKeys: configuration.tokenKeys))
        configuration.registerMetrics()

        let router = ServiceRouter()
        DeviceRoutes(store: devices, registrations: registrations, timeZones: .system()).add(to: router)
        UserRoutes(store: devices).add(to: router)

        let tokens = ServiceClient(
            callee: "tokens", urls: configuration.tokensURLs, credential: configuration.tokensCredential,
            httpClient: boot.httpClient, dependencyTimeout: boot.dependencyTimeout)
        let consumer = RevocationConsumer(
            tokens: tokens, store: RevokedSessionStore(database: database), logger: boot.logger)

        return ServiceAssembly(
            services: [
                database, consumer,
                ExpiredRegistrationStore(database: database, unseen: configuration.unseen).purger(logger: boot.logger),
            ],
            readiness: [ReadinessCheck("postgres") { await database.probe() }], router: router,
            credentials: configuration.credentials, descriptors: database.maximumDescriptors, boot: boot)
    }
}
