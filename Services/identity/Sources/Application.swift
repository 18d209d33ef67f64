import AsyncHTTPClient
import Logging
import NIOCore
public import Postgres
import Redis
public import ServiceKit
public import ServiceKitPostgres

/// The identity service: who the users are, how they prove it, and how their accounts live and end.
public enum IdentityApplication: MigratingApplication {
    public static let name = "identity"
    public static let defaultPort = 8081

    public static var migrations: [PostgresMigration] { identityMigrations }

    public static func configuration(from settings: Settings) -> IdentityConfiguration {
        IdentityConfiguration(settings: settings)
    }

    public static func build(
        _ configuration: IdentityConfiguration, boot: ServiceBoot
    ) async throws -> ServiceAssembly {
        let parts = IdentityParts(
            configuration, httpClient: boot.httpClient, eventLoopGroup: boot.eventLoopGroup, logger: boot.logger)
        let router = ServiceRouter()
        parts.signInRoutes.add(to: router)
        parts.accountRoutes.add(to: router)
        return ServiceAssembly(
            services: [parts.database, parts.redis, parts.hasher, parts.worker],
            readiness: [ReadinessCheck("postgres") { await parts.database.probe() }], router: router,
            credentials: configuration.credentials, descriptors: parts.database.maximumDescriptors, boot: boot)
    }
}

/// The parts, put together: the one place where who needs whom is written down.
struct IdentityParts {
    let database: PostgresPool
    let redis: RedisClient
    let hasher: PasswordHasher
    let worker: OutboxWorker
    let signInRoutes: SignInRoutes
    let accountRoutes: AccountRoutes
    let administration: UserAdministration

    /// Ends what works in the background without being run as a service.
    func close() async throws {
        database.close()
        try await hasher.stop()
    }

    init(
        _ configuration: IdentityConfiguration, httpClient: HTTPClient, eventLoopGroup: any EventLoopGroup,
        logger: Logger
    ) {
        guard let redisConfiguration = configuration.redis else {
            preconditionFailure("built from settings that were not valid")
        }
        database = configuration.database.pool(logger: logger)
        redis = RedisClient(configuration: redisConfiguration, eventLoopGroup: eventLoopGroup, logger: logger)
        hasher = PasswordHasher(
            threads: configuration.hashingThreads, queue: configuration.hashingQueue,
            pepper: configuration.pepperKeys)

        // How often somebody may try.
        let knownDevices = KnownDeviceStore(database: database, keys: configuration.pepperKeys)
        let allowances = AttemptLimits.allowances(messagesPerHour: configuration.resetMessagesPerHour)
        let limits = AttemptLimits(
            counter: configuration.isLimited ? RedisAttemptCounter(redis: redis, allowances: allowances) : nil,
            knownDevices: knownDevices, keys: configuration.pepperKeys,
            messagesPerHour: configuration.resetMessagesPerHour)

        // What others are told.
        let tokens = TokensClient(client: configuration.tokens.client(httpClient))
        let devices = DevicesClient(client: configuration.devices.client(httpClient))
        let apple = AppleServer(
            httpClient: httpClient, keysURL: configuration.apple.keysURL, tokenURL: configuration.apple.tokenURL,
            revokeURL: configuration.apple.revokeURL, clientSecret: configuration.apple.clientSecret)
        let resetHook = configuration.resetHook.map {
            ResetHook(httpClient: httpClient, url: $0.url, secret: $0.secret)
        }
        let accounts = AccountStore(database: database)
        let outbox = OutboxStore(database: database)
        let sealer = Sealer(keys: configuration.sealingKeys)
        let delivery = OutboxDelivery(
            accounts: accounts, outbox: outbox, tokens: tokens, devices: devices, apple: apple, resetHook: resetHook,
            limits: limits, sealer: sealer, logger: logger)
        worker = OutboxWorker(
            store: outbox,
            housekeeping: Housekeeping(
                database: database, auditRetention: configuration.auditRetention, logger: logger),
            logger: logger,
            deliver: delivery.deliver)

        // How somebody is proved.
        let sessions = SessionIssuer(
            accounts: accounts, outbox: outbox, knownDevices: knownDevices, tokens: tokens, logger: logger)
        let policy = PasswordPolicy(minimumLength: configuration.passwordMinimumLength)
        let passwordSignIn = PasswordSignIn(
            accounts: accounts, hasher: hasher, sessions: sessions, limits: limits, home: configuration.home,
            logger: logger)
        let verifier = AppleTokenVerifier(
            keys: AppleKeys(rules: configuration.apple.keyRules, logger: logger) { try await apple.keys() },
            logger: logger)
        let appleSignIn = AppleSignIn(
            accounts: accounts, outbox: outbox, worker: worker, nonces: NonceStore(database: database),
            issuer: AppleNonceIssuer(keys: configuration.sealingKeys), verifier: verifier,
            policy: configuration.apple.policy, sessions: sessions, limits: limits, sealer: sealer,
            exchangesCodes: apple.clientSecret != nil, logger: logger)
        let deletion = AccountDeletion(
            accounts: accounts, delivery: delivery, worker: worker, sealer: sealer, logger: logger)

        signInRoutes = SignInRoutes(
            register: Registration(accounts: accounts, hasher: hasher, policy: policy, signIn: passwordSignIn),
            login: passwordSignIn, apple: appleSignIn,
            notifications: AppleNotifications(
                accounts: accounts, tokens: tokens, verifier: verifier, policy: configuration.apple.policy,
                deletion: deletion, worker: worker, sealer: sealer, logger: logger),
            reset: PasswordReset(
                accounts: accounts, outbox: outbox, hasher: hasher, policy: policy, limits: limits,
                delivery: delivery, worker: worker, sealer: sealer, home: configuration.home,
                isHooked: resetHook != nil))
        accountRoutes = AccountRoutes(
            accounts: accounts, deletion: deletion,
            passwordChange: PasswordChange(
                accounts: accounts, hasher: hasher, policy: policy, limits: limits, delivery: delivery,
                worker: worker),
            linking: AppleLinking(accounts: accounts, signIn: appleSignIn, sealer: sealer, worker: worker),
            export: Export(accounts: accounts, tokens: tokens, devices: devices), worker: worker)
        administration = UserAdministration(
            accounts: accounts, hasher: hasher, policy: policy, delivery: delivery, outbox: outbox,
            home: configuration.home)
    }
}
