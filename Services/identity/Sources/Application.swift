import AsyncHTTPClient
import Foundation
import GatehouseObservability
import GatehouseServiceContracts
public import GatehouseServiceKit
public import GatehouseSettings
import IdentityCore
import IdentityCredentials
import Logging
import NIOCore
public import Postgres
import Redis
import Sealing
public import ServiceKitPostgres
import ServiceLifecycle

/// The identity service: users, their authentication, and the lifecycle of their accounts.
public enum IdentityApplication: MigratingApplication {
    public static let name = "identity"
    public static let defaultPort = 8081

    public static var migrations: PostgresMigrations { Migrations.all }

    public static let exampleSettings = [
        "IDENTITY_APPLE_CLIENT_IDS": "com.example.app", "IDENTITY_UNVERIFIED_RETENTION_DAYS": "1",
        "IDENTITY_WEBHOOK_SECRETS": String(repeating: "s", count: Webhook.minimumSecretLength),
        "IDENTITY_WEBHOOK_URLS": "http://localhost",
    ]

    /// The kinds of credentials: the only list of them.
    static let credentialFeatures: [any CredentialFeature.Type] = [
        PasswordFeature.self, AppleFeature.self, CodeFeature.self,
    ]

    /// The events of the audit log.
    static let auditEvents =
        credentialFeatures.flatMap { $0.auditEvents } + AuditEvent.ofAudit + AuditEvent.ofUsers
        + AuditEvent.ofIdentifiers + AuditEvent.ofMessages + AuditEvent.ofSessions + AuditEvent.ofMerging
        + AuditEvent.ofAdministration + AuditEvent.ofRevocations

    static let messageKinds =
        credentialFeatures.flatMap { $0.messageKinds } + MessageKind.ofAccountNotices

    /// The rows that expire after a fixed time.
    static let expiredRows =
        credentialFeatures.flatMap { $0.expiredRows } + IdentifierChangeStore.expiredRows + KnownDeviceStore.expiredRows

    public static func configuration(from settings: Settings) -> IdentityConfiguration {
        IdentityConfiguration(settings: settings)
    }

    public static func build(
        _ configuration: IdentityConfiguration, boot: ServiceBoot
    ) async throws -> ServiceAssembly {
        let parts = IdentityParts(
            configuration, httpClient: boot.httpClient, eventLoopGroup: boot.eventLoopGroup, logger: boot.logger,
            tracer: boot.tracer)
        return parts.assembly(boot)
    }
}

/// The service's parts: the core, the kinds of credentials, and what treats accounts.
struct IdentityParts {
    private let configuration: IdentityConfiguration
    private let core: CoreParts
    private let redis: RedisClient
    private let devices: DevicesClient
    private let events: EventFeedStore
    private let seals: AuditSealStore
    private let credentials: [any CredentialFeature]
    private let delivery: OutboxDelivery
    private let worker: OutboxWorker

    init(
        _ configuration: IdentityConfiguration, httpClient: HTTPClient, eventLoopGroup: any EventLoopGroup,
        logger: Logger, tracer: GatehouseTracer? = nil
    ) {
        self.configuration = configuration
        let database = configuration.database.pool(logger: logger, tracer: tracer)
        var redisConfiguration = configuration.redis
        redisConfiguration.onCommand = DatabaseSpans.redisCommands(
            at: redisConfiguration.host, redisConfiguration.port, tracer)
        redis = RedisClient(configuration: redisConfiguration, eventLoopGroup: eventLoopGroup, logger: logger)
        devices = DevicesClient(client: configuration.devices.client(httpClient))
        seals = AuditSealStore(database: database, keys: configuration.core.pepperKeys)
        let events = EventFeedStore(database: database, logger: logger)
        self.events = events
        let core = CoreParts(
            configuration.core, database: database, redis: redis,
            tokens: TokensClient(client: configuration.tokens.client(httpClient)), httpClient: httpClient,
            eventLoopGroup: eventLoopGroup, logger: logger)
        self.core = core
        credentials = configuration.credentialKinds.map { $0.feature(core) }
        delivery = OutboxDelivery(
            outbox: core.outbox,
            handlers: credentials.flatMap { $0.handlers } + core.handlers
                + DeletionDelivery(tokens: core.tokens, devices: devices).handlers)
        // A task may add an entry to the audit log.
        worker = OutboxWorker(delivery, logger: logger) { events.sequencer.wake() }
    }

    /// Ends the background work where it is not run as a service.
    func close() async throws {
        core.database.close()
        try await feature(PasswordFeature.self).hasher.stop()
    }

    /// The kind of credential of that type, which is in the list.
    private func feature<Feature: CredentialFeature>(_ type: Feature.Type) -> Feature {
        credentials.lazy.compactMap { $0 as? Feature }.first!
    }
}

// MARK: - The service

extension IdentityParts {
    func assembly(_ boot: ServiceBoot) -> ServiceAssembly {
        let auditWorker = AuditWorker(log: audit, seals: seals, sequencer: events.sequencer, logger: boot.logger)
        let router = ServiceRouter()
        router.add(middleware: AuditMiddleware(worker: auditWorker, sequencer: events.sequencer))
        let actions = AccountActions(delivery: delivery, worker: worker, unlinking: unlinking) { [deletion] in
            try await deletion($0, actor: $1)
        }
        for credential in credentials { credential.addRoutes(to: router, actions) }
        for kind in Identifier.Kind.allCases where core.messages.senders[kind] == nil {
            boot.logger.notice("No sender is configured for a kind of message", metadata: ["kind": "\(kind.rawValue)"])
        }
        accountRoutes.add(to: router)
        identifierRoutes.add(to: router)
        mergeRoutes.add(to: router)
        ReauthenticationRoutes(verification: verification, reauthentication: core.reauthentication).add(to: router)
        EventRoutes(feed: events).add(to: router)
        BounceRoutes(messages: core.messageDelivery, home: core.home).add(to: router)
        adminRoutes.add(to: router)
        ConsoleRoutes.add(to: router)
        let others: [any Service] = [
            core.unusedSessions, worker, purger, events.sequencer, auditWorker, webhookWorker, revocationFollower,
            DatabaseWatch(service: IdentityApplication.name, database: core.database, logger: boot.logger),
        ]
        return ServiceAssembly(
            services: [core.database, redis] + credentials.flatMap { $0.services } + others,
            readiness: [ReadinessCheck("postgres") { [core] in await core.database.probe() }], router: router,
            credentials: configuration.credentials, descriptors: core.database.maximumDescriptors, boot: boot)
    }

    private var purger: Purger {
        ExpiredRowStore(
            database: core.database, auditRetention: configuration.auditRetention,
            originRetention: configuration.auditOriginRetention, seals: seals,
            unverifiedAccounts: configuration.unverifiedRetention.map { [deletions, core] days in
                UnverifiedAccountRemoval(deletions: deletions, days: days) { user in
                    try await !core.tokens.sessions(of: user).sessions.isEmpty
                }
            }
        ).purger(logger: core.logger)
    }

    private var revocationFollower: RevocationFollower {
        RevocationFollower(
            tokens: core.tokens, store: RevocationPositionStore(database: core.database), events: events,
            logger: core.logger)
    }

    private var webhookWorker: WebhookWorker {
        WebhookWorker(
            webhooks: configuration.webhooks, store: WebhookStore(database: core.database), feed: events,
            sender: WebhookSender(httpClient: core.httpClient), retention: configuration.auditRetention,
            logger: core.logger)
    }
}

// MARK: - Accounts

extension IdentityParts {
    private var registry: CredentialRegistry { CredentialRegistry(kinds: credentials.map { $0.kind }) }

    private var verification: CredentialVerification {
        CredentialVerification(verifiers: credentials.map { $0.verifier })
    }

    private var audit: AuditStore { AuditStore(database: core.database) }
    private var unlinking: Unlinking { Unlinking(database: core.database, registry: registry) }
    private var deletions: AccountDeletionStore { AccountDeletionStore(database: core.database, registry: registry) }

    private var identifierChanges: IdentifierChangeStore {
        IdentifierChangeStore(database: core.database, registry: registry)
    }

    private var notices: AccountNotices {
        AccountNotices(notices: core.notices, undoLink: configuration.core.messages.undoLink)
    }

    private var deletion: AccountDeletion {
        AccountDeletion(deletions: deletions, delivery: delivery, worker: worker, logger: core.logger)
    }

    private var accountRoutes: AccountRoutes {
        AccountRoutes(
            accounts: core.accounts, deletion: deletion, unlinking: unlinking,
            export: Export(
                accounts: core.accounts, registry: registry, knownDevices: core.knownDevices, audit: audit,
                tokens: core.tokens, devices: devices),
            age: core.age, worker: worker)
    }

    private var identifierRoutes: IdentifierRoutes {
        IdentifierRoutes(
            change: IdentifierChange(
                changes: identifierChanges, verifier: feature(CodeFeature.self).codeVerifier, notices: notices,
                age: core.age, worker: worker, home: core.home),
            undoing: IdentifierUndoing(
                changes: identifierChanges, delivery: delivery, limits: core.limits, worker: worker))
    }

    private var mergeRoutes: MergeRoutes {
        MergeRoutes(
            merging: AccountMerging(
                verification: verification,
                merges: AccountMergeStore(database: core.database, registry: registry, notices: notices),
                accounts: core.accounts, sessions: core.sessions, age: core.age, delivery: delivery, worker: worker,
                logger: core.logger))
    }
}

// MARK: - Operators

extension IdentityParts {
    var administration: UserAdministration {
        let passwords = feature(PasswordFeature.self)
        return UserAdministration(
            accounts: core.accounts, identifiers: core.identifiers, identifierChanges: identifierChanges,
            passwords: passwords.passwords, hasher: passwords.hasher, screening: passwords.screening,
            delivery: delivery, outbox: core.outbox, home: core.home)
    }

    var transfer: UserTransfer {
        UserTransfer(store: UserTransferStore(database: core.database, registry: registry), home: core.home)
    }

    /// `nil` where the team has no key of its own at Apple.
    var appleTransfer: AppleTransfer? { feature(AppleFeature.self).transfer }

    var auditAdministration: AuditAdministration {
        AuditAdministration(log: audit, seals: seals, users: administration, retention: configuration.auditRetention)
    }

    var webhookAdministration: WebhookAdministration {
        WebhookAdministration(store: WebhookStore(database: core.database), feed: events)
    }

    private var adminRoutes: AdminRoutes {
        let users = AdminUserStore(database: core.database)
        return AdminRoutes(
            gate: OperatorGate(accounts: core.accounts, role: configuration.operatorRole),
            users: AdminUserRoutes(
                users: users, accounts: core.accounts, administration: administration, deletion: deletion,
                audit: audit, age: core.age, worker: worker, home: core.home),
            sessions: AdminSessionRoutes(
                accounts: core.accounts, administration: administration, audit: audit, tokens: core.tokens,
                devices: devices, age: core.age, worker: worker),
            identifiers: AdminIdentifierRoutes(
                users: users, changes: identifierChanges, administration: administration, age: core.age,
                worker: worker, home: core.home),
            pushes: AdminPushRoutes(accounts: core.accounts, audit: audit, devices: devices, limits: core.limits),
            log: AdminLogRoutes(
                audit: audit, figures: FigureStore(database: core.database),
                events: Set(IdentityApplication.auditEvents.map(\.rawValue))))
    }
}

// MARK: - What features declare

extension EventFeedStore {
    /// The feed of every feature's events.
    init(database: PostgresPool, pageSize: Int = pageSize, logger: Logger) {
        self.init(database: database, events: IdentityApplication.auditEvents, pageSize: pageSize, logger: logger)
    }
}

extension MessageTemplates {
    /// Gatehouse's own templates.
    static let builtIn = MessageTemplates(of: IdentityApplication.messageKinds)
}

extension ExpiredRowStore {
    /// - Parameters:
    ///   - auditRetention: days for which the audit log is kept; `nil` keeps it for ever.
    ///   - originRetention: days for which the origins of its actors are kept.
    ///   - seals: the seals of the audit log; entries are removed with theirs.
    ///   - unverifiedAccounts: `nil` keeps accounts that have verified nothing.
    init(
        database: PostgresPool, auditRetention: Int?, originRetention: Int = 90, seals: AuditSealStore? = nil,
        unverifiedAccounts: UnverifiedAccountRemoval? = nil
    ) {
        let entries = auditRetention.flatMap { seals?.expiredEntries(after: $0) }
        self.init(
            database: database,
            rows: IdentityApplication.expiredRows
                + AuditStore.expiredRows(originsAfter: originRetention),
            others: [unverifiedAccounts?.table, entries].compactMap(\.self))
    }
}
