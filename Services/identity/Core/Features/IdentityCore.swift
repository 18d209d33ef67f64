package import AsyncHTTPClient
package import Logging
package import Postgres
package import Sealing

/// What the features share.
package struct IdentityCore: Sendable {
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
    package let limits: AttemptLimits
    package let messages: MessageQueue
    package let messageDelivery: MessageDelivery
    package let sessions: SessionIssuer

    package init(
        database: PostgresPool, httpClient: HTTPClient, logger: Logger, pepperKeys: KeyRing, sealingKeys: KeyRing,
        home: PhoneRegion?, age: AuthenticationAge, tokens: TokensClient, limits: AttemptLimits, messages: MessageQueue,
        messageDelivery: MessageDelivery, sessions: SessionIssuer
    ) {
        self.database = database
        self.httpClient = httpClient
        self.logger = logger
        self.pepperKeys = pepperKeys
        self.sealingKeys = sealingKeys
        self.home = home
        self.age = age
        self.tokens = tokens
        self.limits = limits
        self.messages = messages
        self.messageDelivery = messageDelivery
        self.sessions = sessions
    }

    package var accounts: AccountStore { AccountStore(database: database) }
    package var identifiers: IdentifierStore { IdentifierStore(database: database) }
    package var outbox: OutboxStore { OutboxStore(database: database) }
    package var notices: SecurityNotices { SecurityNotices(messages: messages) }
    package var reauthentication: Reauthentication { Reauthentication(database: database, tokens: tokens) }
}
