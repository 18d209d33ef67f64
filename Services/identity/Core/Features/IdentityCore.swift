import AsyncHTTPClient
import Logging
import Postgres
import Sealing

/// What the features share.
struct IdentityCore: Sendable {
    let database: PostgresPool
    let httpClient: HTTPClient
    let logger: Logger
    let pepperKeys: KeyRing
    let sealingKeys: KeyRing
    /// The country whose national phone numbers are accepted.
    let home: PhoneRegion?
    /// How recent authentication has to be for actions that a stolen access token must not allow.
    let age: AuthenticationAge
    let tokens: TokensClient
    let limits: AttemptLimits
    let messages: MessageQueue
    let messageDelivery: MessageDelivery
    let sessions: SessionIssuer

    var accounts: AccountStore { AccountStore(database: database) }
    var identifiers: IdentifierStore { IdentifierStore(database: database) }
    var outbox: OutboxStore { OutboxStore(database: database) }
    var notices: SecurityNotices { SecurityNotices(messages: messages) }
    var reauthentication: Reauthentication { Reauthentication(database: database, tokens: tokens) }
}
