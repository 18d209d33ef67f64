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
            configuration, httpClient: boot.httpClient, eventLoopGroup: boot.eventLoopGroup, logger: boot.logger,
            tracing: boot.tracing)
        let router = ServiceRouter()
        router.add(middleware: AuditMiddleware(worker: parts.auditWorker))
        parts.passwordRoutes.add(to: router)
        parts.codeRoutes.add(to: router)
        for kind in Identifier.Kind.allCases where parts.messageSenders[kind] == nil {
            boot.logger.notice("Nobody sends messages of a kind", metadata: ["kind": "\(kind.rawValue)"])
        }
        if configuration.apple.isOffered {
            parts.appleRoutes.add(to: router)
        } else {
            boot.logger.notice("Nobody can sign in with Apple: IDENTITY_APPLE_CLIENT_IDS is not set.")
        }
        parts.accountRoutes.add(to: router)
        parts.identifierRoutes.add(to: router)
        parts.mergeRoutes.add(to: router)
        parts.reauthenticationRoutes.add(to: router)
        EventRoutes(feed: parts.events).add(to: router)
        parts.bounceRoutes.add(to: router)
        parts.adminRoutes.add(to: router)
        return ServiceAssembly(
            services: [
                parts.database, parts.redis, parts.hasher, parts.worker, parts.auditWorker, parts.webhookWorker,
                parts.revocationFollower,
            ],
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
    let messageSenders: MessageSenders
    let passwordRoutes: PasswordRoutes
    let codeRoutes: CodeRoutes
    let appleRoutes: AppleRoutes
    let accountRoutes: AccountRoutes
    let identifierRoutes: IdentifierRoutes
    let mergeRoutes: MergeRoutes
    let reauthenticationRoutes: ReauthenticationRoutes
    let administration: UserAdministration
    let adminRoutes: AdminRoutes
    /// `nil` where the team has no key of its own at Apple.
    let appleTransfer: AppleTransfer?
    let auditWorker: AuditWorker
    let auditAdministration: AuditAdministration
    let events: EventFeed
    let bounceRoutes: BounceRoutes
    let webhookWorker: WebhookWorker
    let revocationFollower: RevocationFollower
    let webhookAdministration: WebhookAdministration
    let transfer: UserTransfer

    /// Ends what works in the background when it is not run as a service.
    func close() async throws {
        database.close()
        try await hasher.stop()
    }

    init(
        _ configuration: IdentityConfiguration, httpClient: HTTPClient, eventLoopGroup: any EventLoopGroup,
        logger: Logger, tracing: Tracing? = nil
    ) {
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

        // What is kept.
        let sealer = Sealer(keys: configuration.sealingKeys, purpose: AppleGrant.sealingPurpose)
        let outbox = OutboxStore(database: database)
        let accounts = AccountStore(database: database)
        let passwords = PasswordStore(database: database)
        let passwordResets = PasswordResetStore(database: database)
        let appleIdentities = AppleIdentityStore(database: database)
        let appleGrants = AppleGrantStore(database: database, sealer: sealer)
        let appleMail = AppleMailStore(database: database)
        let appleTransfers = AppleTransferStore(database: database)
        let nonces = NonceStore(database: database)
        messageSenders = MessageSenders(
            configuration.messages, httpClient: httpClient, eventLoopGroup: eventLoopGroup, logger: logger)
        let providers = AuthProviderStore(
            database: database, grants: appleGrants, codeKinds: messageSenders.kinds)
        let identifiers = IdentifierStore(database: database, codeKinds: messageSenders.kinds)
        let knownDevices = KnownDeviceStore(database: database, keys: configuration.pepperKeys)
        let deviceTokens = DeviceTokens(keys: configuration.pepperKeys)

        let audit = AuditLog(database: database)
        let seals = AuditSealStore(database: database, keys: configuration.pepperKeys)
        auditWorker = AuditWorker(log: audit, seals: seals, logger: logger)

        // What others are told.
        events = EventFeed(database: database)
        let webhooks = WebhookStore(database: database)
        webhookWorker = WebhookWorker(
            webhooks: configuration.webhooks, store: webhooks, feed: events,
            sender: WebhookSender(httpClient: httpClient), retention: configuration.auditRetention, logger: logger)
        webhookAdministration = WebhookAdministration(store: webhooks, feed: events)

        // How often somebody may try.
        let allowances = AttemptLimits.allowances(budget: configuration.messages.budget).map {
            configuration.allowances[$0.name] ?? $0
        }
        let limits = AttemptLimits(
            counter: configuration.isLimited ? RedisAttemptCounter(redis: redis, allowances: allowances) : nil,
            knownDevices: KnownDevices(tokens: deviceTokens, store: knownDevices), keys: configuration.pepperKeys,
            budget: configuration.messages.budget, overrides: configuration.allowances)

        // Whom this service calls.
        let tokens = TokensClient(client: configuration.tokens.client(httpClient))
        revocationFollower = RevocationFollower(
            tokens: tokens, store: RevocationStore(database: database), logger: logger)
        let devices = DevicesClient(client: configuration.devices.client(httpClient))
        let apple = AppleServer(httpClient: httpClient, configuration: configuration.apple)
        let resetHook = configuration.resetHook.map {
            ResetHook(httpClient: httpClient, url: $0.url, secret: $0.secret)
        }
        let messages = MessageQueue(
            senders: messageSenders, templates: configuration.messages.templates,
            sealer: Sealer(keys: configuration.sealingKeys, purpose: MessageQueue.sealingPurpose),
            codeLink: configuration.messages.codeLink, callingCodes: configuration.messages.callingCodes)
        let notices = AccountNotices(messages: messages, undoLink: configuration.messages.undoLink)
        let messageDelivery = MessageDelivery(
            queue: messages, passwords: passwords, mail: appleMail, limits: limits,
            appName: configuration.messages.appName, logger: logger)
        bounceRoutes = BounceRoutes(messages: messageDelivery, home: configuration.home)
        let delivery = OutboxDelivery(
            accounts: accounts, outbox: outbox, tokens: tokens, devices: devices,
            appleGrants: AppleGrantDelivery(apple: apple, grants: appleGrants, outbox: outbox, logger: logger),
            passwordResets: PasswordResetDelivery(
                passwords: passwords, resets: passwordResets, mail: appleMail, limits: limits, sealer: sealer,
                hook: resetHook, messages: messageDelivery, link: configuration.messages.resetLink),
            messages: messageDelivery,
            lossNotice: LossNotice(identifiers: identifiers, messages: messageDelivery, templates: messages))
        let deletions = AccountDeletionStore(database: database, grants: appleGrants)
        worker = OutboxWorker(
            store: outbox,
            housekeeping: Housekeeping(
                database: database, auditRetention: configuration.auditRetention,
                originRetention: configuration.auditOriginRetention, seals: seals,
                unverifiedAccounts: configuration.unverifiedRetention.map { [database] days in
                    UnverifiedAccountRemoval(database: database, deletions: deletions, days: days) { user in
                        try await !tokens.sessions(of: user, deadline: .after(.seconds(5))).sessions.isEmpty
                    }
                }, logger: logger),
            logger: logger,
            deliver: delivery.deliver)

        // What is asked of somebody who is signed in.
        let age = configuration.authenticationAge
        let reauthentication = Reauthentication(database: database, tokens: tokens)

        // Signing in with a password.
        let sessions = SessionIssuer(
            accounts: accounts, outbox: outbox, knownDevices: knownDevices, deviceTokens: deviceTokens, tokens: tokens,
            logger: logger)
        let screening = PasswordScreening(
            policy: PasswordPolicy(minimumLength: configuration.passwordMinimumLength),
            breached: configuration.breachedPasswords)
        let passwordSignIn = PasswordSignIn(
            passwords: passwords, hasher: hasher, sessions: sessions, limits: limits, home: configuration.home,
            logger: logger)
        passwordRoutes = PasswordRoutes(
            register: Registration(
                passwords: passwords, hasher: hasher, screening: screening, sessions: sessions, limits: limits,
                signIn: passwordSignIn, home: configuration.home),
            login: passwordSignIn,
            change: PasswordChange(
                passwords: passwords, hasher: hasher, screening: screening, limits: limits, age: age,
                notices: notices, delivery: delivery, worker: worker),
            reset: PasswordReset(
                resets: passwordResets, outbox: outbox, hasher: hasher, screening: screening, limits: limits,
                delivery: delivery, worker: worker, sealer: sealer, home: configuration.home,
                messages: messages, notices: notices, isHooked: resetHook != nil),
            hasher: hasher)
        let codes = CodeStore(
            database: database, keys: CodeKeys(configuration.pepperKeys),
            sealer: Sealer(keys: configuration.sealingKeys, purpose: CodeStore.sealingPurpose))
        let codeProofs = CodeProofs(codes: codes, limits: limits, home: configuration.home, logger: logger)
        codeRoutes = CodeRoutes(
            dispatch: CodeDispatch(
                codes: codes, messages: messages, limits: limits, worker: worker, home: configuration.home),
            verification: CodeVerification(
                proofs: codeProofs, accounts: CodeAccountStore(database: database), sessions: sessions,
                reauthentication: reauthentication, worker: worker))
        identifierRoutes = IdentifierRoutes(
            change: IdentifierChange(
                identifiers: identifiers, proofs: codeProofs, notices: notices, age: age, worker: worker,
                home: configuration.home),
            undoing: IdentifierUndoing(
                changes: IdentifierChangeStore(database: database, grants: appleGrants), delivery: delivery,
                limits: limits, worker: worker))

        // Signing in with Apple, and the user's own account.
        let verifier = AppleTokenVerifier(
            keys: AppleKeys(rules: configuration.apple.keyRules, logger: logger) { try await apple.keys() },
            logger: logger)
        let nonceIssuer = AppleNonceIssuer(keys: configuration.sealingKeys)
        let proofs = AppleProofs(
            verifier: verifier, policy: configuration.apple.policy, issuer: nonceIssuer, nonces: nonces,
            transfers: appleTransfers, logger: logger)
        let deletion = AccountDeletion(
            deletions: deletions, delivery: delivery, worker: worker, logger: logger)
        appleRoutes = AppleRoutes(
            signIn: AppleSignIn(
                identities: appleIdentities, grants: appleGrants, nonces: nonces, proofs: proofs, sessions: sessions,
                limits: limits, worker: worker, exchangesCodes: apple.clientSecret != nil,
                redirectURIs: configuration.apple.redirectURIs, logger: logger),
            nonces: nonceIssuer, limits: limits,
            linking: AppleLinking(
                identities: appleIdentities, proofs: proofs, limits: limits, age: age, notices: notices, worker: worker),
            notifications: AppleNotifications(
                notifications: AppleNotificationStore(database: database), mail: appleMail, identities: appleIdentities,
                grants: appleGrants, providers: providers, tokens: tokens, verifier: verifier,
                policy: configuration.apple.policy, deletion: deletion, worker: worker, logger: logger))
        accountRoutes = AccountRoutes(
            accounts: accounts, deletion: deletion,
            unlinking: Unlinking(providers: providers, age: age, worker: worker),
            export: Export(
                accounts: accounts, identifiers: identifiers, passwords: passwords,
                appleIdentities: appleIdentities, knownDevices: knownDevices, audit: audit,
                tokens: tokens, devices: devices),
            age: age, worker: worker)
        let appleReauthentication =
            configuration.apple.isOffered
            ? AppleReauthentication(
                identities: appleIdentities, nonces: nonces, proofs: proofs, limits: limits, age: age,
                reauthentication: reauthentication) : nil
        mergeRoutes = MergeRoutes(
            merging: AccountMerging(
                proofs: MergeProofs(
                    identifiers: identifiers, passwords: passwords, hasher: hasher, signIn: passwordSignIn,
                    apple: appleReauthentication, codes: codeProofs,
                    codeAccounts: CodeAccountStore(database: database), limits: limits, home: configuration.home),
                merges: AccountMergeStore(database: database, grants: appleGrants, notices: notices),
                accounts: accounts,
                sessions: sessions, age: age, delivery: delivery, worker: worker, logger: logger))
        reauthenticationRoutes = ReauthenticationRoutes(
            password: PasswordReauthentication(
                passwords: passwords, hasher: hasher, limits: limits, reauthentication: reauthentication),
            apple: appleReauthentication)
        appleTransfer = apple.clientSecret.map { AppleTransfer(store: appleTransfers, apple: apple, secret: $0) }
        administration = UserAdministration(
            accounts: accounts, identifiers: identifiers, passwords: passwords, hasher: hasher,
            screening: screening, delivery: delivery, outbox: outbox, home: configuration.home)
        let adminUsers = AdminUserStore(database: database)
        adminRoutes = AdminRoutes(
            gate: OperatorGate(accounts: accounts, role: configuration.operatorRole),
            users: AdminUserRoutes(
                users: adminUsers, accounts: accounts, administration: administration,
                deletion: deletion, audit: audit, age: age, worker: worker, home: configuration.home),
            sessions: AdminSessionRoutes(
                accounts: accounts, administration: administration, audit: audit, tokens: tokens, devices: devices,
                age: age, worker: worker),
            identifiers: AdminIdentifierRoutes(
                users: adminUsers, identifiers: identifiers, administration: administration, age: age, worker: worker,
                home: configuration.home),
            log: AdminLogRoutes(audit: audit, figures: FigureStore(database: database)))
        transfer = UserTransfer(
            store: UserImportStore(database: database), home: configuration.home,
            keys: ImportedPasswordHash.Keys(
                peppers: Set(configuration.pepperKeys.ids),
                hasFirebaseSignerKey: configuration.firebaseSignerKey != nil))
        auditAdministration = AuditAdministration(
            log: audit, seals: seals, users: administration, retention: configuration.auditRetention)
    }
}

extension IdentityParts {
    /// Runs `body` for a command, and ends all threads and connections after it.
    static func run(
        _ configuration: IdentityConfiguration, _ body: (IdentityParts) async throws -> Void
    ) async throws {
        let httpClient = HTTPClient(eventLoopGroupProvider: .singleton, configuration: .gatehouse())
        do {
            let parts = IdentityParts(
                configuration, httpClient: httpClient, eventLoopGroup: HTTPClient.defaultEventLoopGroup,
                logger: Logger(label: IdentityApplication.name) { _ in SwiftLogNoOpLogHandler() })
            do {
                // The audit log names who has run the command.
                try await AuditScope.$current.withValue(AuditScope(name: operatorsName)) { try await body(parts) }
            } catch {
                try await parts.close()
                throw error
            }
            try await parts.close()
        } catch {
            try await httpClient.shutdown()
            throw error
        }
        try await httpClient.shutdown()
    }

    private static var operatorsName: String {
        let environment = ProcessInfo.processInfo.environment
        return String((environment["SUDO_USER"] ?? ProcessInfo.processInfo.userName).prefix(64))
    }
}
