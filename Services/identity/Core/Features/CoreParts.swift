package import AsyncHTTPClient
package import Logging
package import NIOCore
package import Postgres
package import Redis
package import Sealing

/// What the features share.
package struct CoreParts: Sendable {
    package let database: PostgresPool
    package let httpClient: HTTPClient
    package let logger: Logger
    package let pepperKeys: KeyRing
    package let sealingKeys: KeyRing
    /// The country whose national phone numbers are accepted.
    package let home: PhoneRegion?
    /// How recent authentication has to be for actions that a stolen access token must not allow.
    package let age: AuthenticationAge
    package let tokens: TokensClient
    package let knownDevices: KnownDeviceStore
    package let limits: AttemptLimits
    package let messages: MessageQueue
    package let messageDelivery: MessageDelivery
    package let unusedSessions: UnusedSessions
    package let sessions: SessionIssuer

    package init(
        _ configuration: CoreConfiguration, database: PostgresPool, redis: RedisClient, tokens: TokensClient,
        httpClient: HTTPClient, eventLoopGroup: any EventLoopGroup, logger: Logger
    ) {
        self.database = database
        self.httpClient = httpClient
        self.logger = logger
        pepperKeys = configuration.pepperKeys
        sealingKeys = configuration.sealingKeys
        home = configuration.home
        age = configuration.authenticationAge
        self.tokens = tokens
        pepperKeys.registerMetrics(as: "pepper")
        sealingKeys.registerMetrics(as: "sealing")
        let accounts = AccountStore(database: database)
        let outbox = OutboxStore(database: database)
        knownDevices = KnownDeviceStore(database: database, keys: pepperKeys)
        let deviceTokens = KnownDeviceTokens(keys: pepperKeys)
        let budget = configuration.messages.budget
        let allowances = AttemptLimits.allowances(budget: budget).map { configuration.allowances[$0.name] ?? $0 }
        limits = AttemptLimits(
            counter: configuration.isLimited ? RedisAttemptCounter(redis: redis, allowances: allowances) : nil,
            knownDevices: KnownDevices(tokens: deviceTokens, store: knownDevices), keys: pepperKeys, budget: budget,
            overrides: configuration.allowances)
        messages = MessageQueue(
            senders: MessageSenders(
                configuration.messages, httpClient: httpClient, eventLoopGroup: eventLoopGroup, logger: logger),
            templates: configuration.messages.templates,
            sealer: Sealer(keys: sealingKeys, purpose: MessageQueue.sealingPurpose),
            codeLink: configuration.messages.codeLink, callingCodes: configuration.messages.callingCodes)
        messageDelivery = MessageDelivery(
            queue: messages, identifiers: IdentifierStore(database: database), limits: limits,
            appName: configuration.messages.appName, logger: logger)
        unusedSessions = UnusedSessions(
            enqueue: { session in
                try await OutboxStore.enqueue(.revokeUnused(session: session), user: nil, on: database)
            }, revoke: { session in try await tokens.revokeUnused(session: session) }, logger: logger)
        sessions = SessionIssuer(
            accounts: accounts, outbox: outbox, knownDevices: knownDevices, deviceTokens: deviceTokens, tokens: tokens,
            unused: unusedSessions, logger: logger)
    }

    package var accounts: AccountStore { AccountStore(database: database) }
    package var identifiers: IdentifierStore { IdentifierStore(database: database) }
    package var outbox: OutboxStore { OutboxStore(database: database) }
    package var notices: SecurityNotices { SecurityNotices(messages: messages) }
    package var reauthentication: Reauthentication { Reauthentication(database: database, tokens: tokens) }

    /// The tasks of the outbox that belong to no kind of credential.
    package var handlers: [OutboxHandler] {
        SessionDelivery(accounts: accounts, tokens: tokens).handlers + messageDelivery.handlers
            + LossNotice(identifiers: identifiers, messages: messageDelivery, templates: messages).handlers
    }
}
