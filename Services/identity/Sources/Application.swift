import AsyncHTTPClient
import Contracts
import Foundation
import Logging
import NIOCore
import Observability
public import Postgres
import Redis
import Sealing
public import ServiceKit
public import ServiceKitPostgres
public import Settings

/// The identity service: users, their authentication, and the lifecycle of their accounts.
public enum IdentityApplication: MigratingApplication {
    public static let name = "identity"
    public static let defaultPort = 8081

    public static var migrations: [PostgresMigration] { Migrations.all }

    public static let exampleSettings = [
        "IDENTITY_APPLE_CLIENT_IDS": "com.example.app", "IDENTITY_UNVERIFIED_RETENTION_DAYS": "1",
        "IDENTITY_WEBHOOK_SECRETS": String(repeating: "s", count: Webhook.minimumSecretLength),
        "IDENTITY_WEBHOOK_URLS": "http://localhost",
    ]

    public static func configuration(from settings: Settings) -> IdentityConfiguration {
        IdentityConfiguration(settings: settings)
    }

    public static func build(
        _ configuration: IdentityConfiguration, boot: ServiceBoot
    ) async throws -> ServiceAssembly {
        let parts = IdentityParts(
            configuration, httpClient: boot.httpClient, eventLoopGroup: boot.eventLoopGroup, logger: boot.logger,
            tracing: boot.tracing)
        let auditWorker = AuditWorker(
            log: parts.audit, seals: parts.seals, stamper: parts.events.stamper, logger: boot.logger)
        let router = ServiceRouter()
        router.add(middleware: AuditMiddleware(worker: auditWorker, stamper: parts.events.stamper))
        parts.passwordRoutes.add(to: router)
        parts.codeRoutes.add(to: router)
        for kind in Identifier.Kind.allCases where parts.messageSenders[kind] == nil {
            boot.logger.notice("No sender is configured for a kind of message", metadata: ["kind": "\(kind.rawValue)"])
        }
        if configuration.apple.isOffered {
            parts.appleRoutes.add(to: router)
        } else {
            boot.logger.notice("Sign in with Apple is off: IDENTITY_APPLE_CLIENT_IDS is not set.")
        }
        parts.accountRoutes.add(to: router)
        parts.identifierRoutes.add(to: router)
        parts.mergeRoutes.add(to: router)
        parts.reauthenticationRoutes.add(to: router)
        EventRoutes(feed: parts.events).add(to: router)
        BounceRoutes(messages: parts.messageDelivery, home: configuration.home).add(to: router)
        parts.adminRoutes.add(to: router)
        ConsoleRoutes.add(to: router)
        return ServiceAssembly(
            services: [
                parts.database, parts.redis, parts.hasher, parts.unusedSessions, parts.worker, parts.purger,
                parts.events.stamper,
                auditWorker, parts.webhookWorker, parts.revocationFollower,
                DatabaseWatch(service: name, database: parts.database, logger: boot.logger),
            ],
            readiness: [ReadinessCheck("postgres") { await parts.database.probe() }], router: router,
            credentials: configuration.credentials, descriptors: parts.database.maximumDescriptors, boot: boot)
    }
}

/// The parts with connections, threads or state, and those that several features share. Each feature is built from them
/// by the properties below.
struct IdentityParts {
    private let configuration: IdentityConfiguration
    private let httpClient: HTTPClient
    private let logger: Logger

    let database: PostgresPool
    let redis: RedisClient
    let hasher: PasswordHasher

    // Called services.
    private let tokens: TokensClient
    private let devices: DevicesClient
    private let apple: AppleServer

    // Stores.
    private let accounts: AccountStore
    private let identifiers: IdentifierStore
    private let passwords: PasswordStore
    private let passwordResets: PasswordResetStore
    private let appleIdentities: AppleIdentityStore
    private let appleGrants: AppleGrantStore
    private let appleMail: AppleMailStore
    private let appleTransfers: AppleTransferStore
    private let deletions: AccountDeletionStore
    private let outbox: OutboxStore
    private let knownDevices: KnownDeviceStore
    let audit: AuditStore
    let seals: AuditSealStore
    let events: EventFeedStore

    // Messages, and tasks that are retried.
    let messageSenders: MessageSenders
    private let messages: MessageQueue
    private let notices: AccountNotices
    let messageDelivery: MessageDelivery
    private let delivery: OutboxDelivery
    let worker: OutboxWorker
    let purger: Purger

    // Signing in.
    private let limits: AttemptLimits
    private let sessions: SessionIssuer
    let unusedSessions: UnusedSessions
    private let appleVerifier: AppleTokenVerifier

    init(
        _ configuration: IdentityConfiguration, httpClient: HTTPClient, eventLoopGroup: any EventLoopGroup,
        logger: Logger, tracing: Tracing? = nil
    ) {
        self.configuration = configuration
        self.httpClient = httpClient
        self.logger = logger
        database = configuration.database.pool(logger: logger, tracing: tracing)
        var redisConfiguration = configuration.redis
        redisConfiguration.onCommand = DatabaseSpans.redisCommands(
            at: redisConfiguration.host, redisConfiguration.port, tracing)
        redis = RedisClient(configuration: redisConfiguration, eventLoopGroup: eventLoopGroup, logger: logger)
        configuration.pepperKeys.registerMetrics(as: "pepper")
        configuration.sealingKeys.registerMetrics(as: "sealing")
        hasher = PasswordHasher(
            threads: configuration.hashingThreads, queue: configuration.hashingQueue,
            pepper: configuration.pepperKeys, parameters: configuration.hashingParameters,
            foreign: ForeignHashing(firebaseSignerKey: configuration.firebaseSignerKey))

        tokens = TokensClient(client: configuration.tokens.client(httpClient))
        devices = DevicesClient(client: configuration.devices.client(httpClient))
        apple = AppleServer(httpClient: httpClient, configuration: configuration.apple)

        messageSenders = MessageSenders(
            configuration.messages, httpClient: httpClient, eventLoopGroup: eventLoopGroup, logger: logger)
        accounts = AccountStore(database: database)
        identifiers = IdentifierStore(database: database, codeKinds: messageSenders.kinds)
        passwords = PasswordStore(database: database)
        passwordResets = PasswordResetStore(database: database)
        appleIdentities = AppleIdentityStore(database: database)
        let sealer = Sealer(keys: configuration.sealingKeys, purpose: AppleGrant.sealingPurpose)
        appleGrants = AppleGrantStore(database: database, sealer: sealer)
        appleMail = AppleMailStore(database: database)
        appleTransfers = AppleTransferStore(database: database)
        deletions = AccountDeletionStore(database: database, grants: appleGrants)
        outbox = OutboxStore(database: database)
        knownDevices = KnownDeviceStore(database: database, keys: configuration.pepperKeys)
        audit = AuditStore(database: database)
        seals = AuditSealStore(database: database, keys: configuration.pepperKeys)
        events = EventFeedStore(database: database, logger: logger)

        let deviceTokens = KnownDeviceTokens(keys: configuration.pepperKeys)
        let allowances = AttemptLimits.allowances(budget: configuration.messages.budget).map {
            configuration.allowances[$0.name] ?? $0
        }
        limits = AttemptLimits(
            counter: configuration.isLimited ? RedisAttemptCounter(redis: redis, allowances: allowances) : nil,
            knownDevices: KnownDevices(tokens: deviceTokens, store: knownDevices), keys: configuration.pepperKeys,
            budget: configuration.messages.budget, overrides: configuration.allowances)

        messages = MessageQueue(
            senders: messageSenders, templates: configuration.messages.templates,
            sealer: Sealer(keys: configuration.sealingKeys, purpose: MessageQueue.sealingPurpose),
            codeLink: configuration.messages.codeLink, callingCodes: configuration.messages.callingCodes)
        notices = AccountNotices(messages: messages, undoLink: configuration.messages.undoLink)
        messageDelivery = MessageDelivery(
            queue: messages, identifiers: identifiers,
            isWanted: { [appleMail] in try await appleMail.mayReceiveMail($0) },
            limits: limits, appName: configuration.messages.appName, logger: logger)
        let passwordResetDelivery = PasswordResetDelivery(
            passwords: passwords, resets: passwordResets, limits: limits, sealer: sealer,
            hook: configuration.resetHook.map { ResetHook(httpClient: httpClient, url: $0.url, secret: $0.secret) },
            messages: messageDelivery, link: configuration.messages.resetLink)
        let features: [[OutboxHandler]] = [
            SessionDelivery(accounts: accounts, tokens: tokens).handlers,
            AppleGrantDelivery(apple: apple, grants: appleGrants, outbox: outbox, logger: logger).handlers,
            messageDelivery.handlers,
            passwordResetDelivery.handlers,
            LossNotice(identifiers: identifiers, messages: messageDelivery, templates: messages).handlers,
            DeletionDelivery(tokens: tokens, devices: devices, grantRevocation: .revokeAppleGrant).handlers,
        ]
        delivery = OutboxDelivery(outbox: outbox, handlers: Array(features.joined()))
        // A task may add an entry to the audit log.
        worker = OutboxWorker(delivery, logger: logger) { [events] in events.stamper.wake() }
        purger = ExpiredRowStore(
            database: database, auditRetention: configuration.auditRetention,
            originRetention: configuration.auditOriginRetention, seals: seals,
            unverifiedAccounts: configuration.unverifiedRetention.map { [deletions, tokens] days in
                UnverifiedAccountRemoval(deletions: deletions, days: days) { user in
                    try await !tokens.sessions(of: user).sessions.isEmpty
                }
            }
        ).purger(logger: logger)

        unusedSessions = UnusedSessions(
            enqueue: { [outbox] session in
                try await OutboxStore.enqueue(.revokeUnused(session: session), user: nil, on: outbox.database)
            }, revoke: { [tokens] session in try await tokens.revokeUnused(session: session) }, logger: logger)
        sessions = SessionIssuer(
            accounts: accounts, outbox: outbox, knownDevices: knownDevices, deviceTokens: deviceTokens, tokens: tokens,
            unused: unusedSessions, logger: logger)
        appleVerifier = AppleTokenVerifier(
            keys: AppleKeys(rules: configuration.apple.keyRules, logger: logger) { [apple] in try await apple.keys() },
            logger: logger)
    }

    /// Ends the background work where it is not run as a service.
    func close() async throws {
        database.close()
        try await hasher.stop()
    }
}

// MARK: - Features

extension IdentityParts {
    private var age: AuthenticationAge { configuration.authenticationAge }

    private var screening: PasswordScreening {
        PasswordScreening(
            policy: PasswordPolicy(minimumLength: configuration.passwordMinimumLength),
            breached: configuration.breachedPasswords)
    }

    private var passwordProofs: PasswordProofs {
        PasswordProofs(
            passwords: passwords, identifiers: identifiers, hasher: hasher, limits: limits, home: configuration.home,
            logger: logger)
    }

    var passwordRoutes: PasswordRoutes {
        PasswordRoutes(
            register: Registration(
                passwords: passwords, hasher: hasher, screening: screening, sessions: sessions, limits: limits,
                proofs: passwordProofs, home: configuration.home),
            login: PasswordSignIn(proofs: passwordProofs, sessions: sessions),
            change: PasswordChange(
                passwords: passwords, proofs: passwordProofs, hasher: hasher, screening: screening, limits: limits,
                age: age, notices: notices, delivery: delivery, worker: worker),
            reset: PasswordReset(
                resets: passwordResets, outbox: outbox, hasher: hasher, screening: screening, limits: limits,
                delivery: delivery, worker: worker,
                sealer: Sealer(keys: configuration.sealingKeys, purpose: AppleGrant.sealingPurpose),
                home: configuration.home, messages: messages, notices: notices,
                isHooked: configuration.resetHook != nil),
            hasher: hasher)
    }

    private var codes: CodeStore {
        CodeStore(
            database: database, keys: CodeKeys(configuration.pepperKeys),
            sealer: Sealer(keys: configuration.sealingKeys, purpose: CodeStore.sealingPurpose))
    }

    private var codeProofs: CodeProofs {
        CodeProofs(codes: codes, limits: limits, home: configuration.home, logger: logger)
    }

    var codeRoutes: CodeRoutes {
        CodeRoutes(
            dispatch: CodeDispatch(
                codes: codes, messages: messages, limits: limits, worker: worker, home: configuration.home),
            verification: CodeVerification(
                proofs: codeProofs, accounts: CodeAccountStore(database: database), sessions: sessions,
                reauthentication: reauthentication, worker: worker))
    }

    var identifierRoutes: IdentifierRoutes {
        IdentifierRoutes(
            change: IdentifierChange(
                identifiers: identifiers, proofs: codeProofs, notices: notices, age: age, worker: worker,
                home: configuration.home),
            undoing: IdentifierUndoing(
                changes: IdentifierChangeStore(database: database, grants: appleGrants), delivery: delivery,
                limits: limits, worker: worker))
    }

    private var providers: AuthProviderStore {
        AuthProviderStore(database: database, grants: appleGrants, codeKinds: messageSenders.kinds)
    }

    private var appleNonceIssuer: AppleNonceIssuer { AppleNonceIssuer(keys: configuration.sealingKeys) }

    private var appleProofs: AppleProofs {
        AppleProofs(
            verifier: appleVerifier, policy: configuration.apple.policy, nonceIssuer: appleNonceIssuer,
            nonceStore: AppleNonceStore(database: database), transfers: appleTransfers, logger: logger)
    }

    var appleRoutes: AppleRoutes {
        AppleRoutes(
            signIn: AppleSignIn(
                identities: appleIdentities, grants: appleGrants, nonceStore: AppleNonceStore(database: database),
                proofs: appleProofs, sessions: sessions, limits: limits, worker: worker,
                exchangesCodes: apple.clientSecret != nil, redirectURIs: configuration.apple.redirectURIs,
                logger: logger),
            nonceIssuer: appleNonceIssuer, limits: limits,
            linking: AppleLinking(
                identities: appleIdentities, proofs: appleProofs, limits: limits, age: age, notices: notices,
                worker: worker),
            notifications: AppleNotifications(
                notifications: AppleNotificationStore(database: database), mail: appleMail, identities: appleIdentities,
                grants: appleGrants, providers: providers, tokens: tokens, verifier: appleVerifier,
                policy: configuration.apple.policy, deletion: deletion, worker: worker, logger: logger))
    }

    /// `nil` where the team has no key of its own at Apple.
    var appleTransfer: AppleTransfer? {
        apple.clientSecret.map { AppleTransfer(store: appleTransfers, apple: apple, secret: $0) }
    }

    private var deletion: AccountDeletion {
        AccountDeletion(deletions: deletions, delivery: delivery, worker: worker, logger: logger)
    }

    var accountRoutes: AccountRoutes {
        AccountRoutes(
            accounts: accounts, deletion: deletion,
            unlinking: Unlinking(providers: providers, age: age, worker: worker),
            export: Export(
                accounts: accounts, identifiers: identifiers, passwords: passwords,
                appleIdentities: appleIdentities, knownDevices: knownDevices, audit: audit, tokens: tokens,
                devices: devices),
            age: age, worker: worker)
    }

    private var reauthentication: Reauthentication { Reauthentication(database: database, tokens: tokens) }

    private var userProofs: UserProofs {
        let apple = AppleAccountProofs(
            identities: appleIdentities, nonceStore: AppleNonceStore(database: database), proofs: appleProofs,
            limits: limits, age: age)
        return UserProofs(
            passwords: passwordProofs, apple: configuration.apple.isOffered ? apple : nil, codes: codeProofs,
            codeAccounts: CodeAccountStore(database: database))
    }

    var reauthenticationRoutes: ReauthenticationRoutes {
        ReauthenticationRoutes(proofs: userProofs, reauthentication: reauthentication)
    }

    var mergeRoutes: MergeRoutes {
        MergeRoutes(
            merging: AccountMerging(
                proofs: userProofs,
                merges: AccountMergeStore(database: database, grants: appleGrants, notices: notices),
                accounts: accounts, sessions: sessions, age: age, delivery: delivery, worker: worker, logger: logger))
    }

    var administration: UserAdministration {
        UserAdministration(
            accounts: accounts, identifiers: identifiers, passwords: passwords, hasher: hasher,
            screening: screening, delivery: delivery, outbox: outbox, home: configuration.home)
    }

    var adminRoutes: AdminRoutes {
        let users = AdminUserStore(database: database)
        return AdminRoutes(
            gate: OperatorGate(accounts: accounts, role: configuration.operatorRole),
            users: AdminUserRoutes(
                users: users, accounts: accounts, administration: administration, deletion: deletion, audit: audit,
                age: age, worker: worker, home: configuration.home),
            sessions: AdminSessionRoutes(
                accounts: accounts, administration: administration, audit: audit, tokens: tokens, devices: devices,
                age: age, worker: worker),
            identifiers: AdminIdentifierRoutes(
                users: users, identifiers: identifiers, administration: administration, age: age, worker: worker,
                home: configuration.home),
            pushes: AdminPushRoutes(accounts: accounts, audit: audit, devices: devices, limits: limits),
            log: AdminLogRoutes(
                audit: audit, figures: FigureStore(database: database),
                events: Set(IdentityApplication.auditEvents.map(\.rawValue))))
    }

    var transfer: UserTransfer {
        UserTransfer(
            store: UserTransferStore(database: database), home: configuration.home,
            keys: ImportedPasswordHash.Keys(
                peppers: Set(configuration.pepperKeys.ids),
                hasFirebaseSignerKey: configuration.firebaseSignerKey != nil))
    }

    var auditAdministration: AuditAdministration {
        AuditAdministration(log: audit, seals: seals, users: administration, retention: configuration.auditRetention)
    }

    var revocationFollower: RevocationFollower {
        RevocationFollower(
            tokens: tokens, store: RevocationPositionStore(database: database), events: events, logger: logger)
    }

    var webhookWorker: WebhookWorker {
        WebhookWorker(
            webhooks: configuration.webhooks, store: WebhookStore(database: database), feed: events,
            sender: WebhookSender(httpClient: httpClient), retention: configuration.auditRetention, logger: logger)
    }

    var webhookAdministration: WebhookAdministration {
        WebhookAdministration(store: WebhookStore(database: database), feed: events)
    }
}

// MARK: - What features declare

extension IdentityApplication {
    /// The events of the audit log.
    static let auditEvents = [
        AuditEvent.ofAudit, AuditEvent.ofUsers, AuditEvent.ofIdentifiers, AuditEvent.ofMessages, AuditEvent.ofSessions,
        AuditEvent.ofPasswords, AuditEvent.ofApple, AuditEvent.ofMerging, AuditEvent.ofAdministration,
        AuditEvent.ofRevocations,
    ].flatMap(\.self)

    static let messageKinds = [
        MessageKind.ofCodes, MessageKind.ofPasswords, MessageKind.ofAccountNotices, MessageKind.ofApple,
    ].flatMap(\.self)

    /// The rows that expire after a fixed time.
    static let expiredRows = [
        AppleNonceStore.expiredRows, PasswordResetStore.expiredRows, IdentifierChangeStore.expiredRows,
        CodeStore.expiredRows, AppleNotificationStore.expiredRows, KnownDeviceStore.expiredRows,
    ].flatMap(\.self)
}

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
                + AuditStore.expiredRows(after: auditRetention, originsAfter: originRetention),
            others: [unverifiedAccounts?.table, entries].compactMap(\.self))
    }
}
