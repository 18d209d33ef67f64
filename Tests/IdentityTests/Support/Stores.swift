import Postgres
import Sealing
import ServiceKitPostgres
import TestKit

@testable import IdentityService

/// What identity keeps, in a test's own database.
struct Stores: Sendable {
    let accounts: AccountStore
    let identifiers: IdentifierStore
    let passwords: PasswordStore
    let resets: PasswordResetStore
    let appleIdentities: AppleIdentityStore
    let appleGrants: AppleGrantStore
    let providers: AuthProviderStore
    let deletions: AccountDeletionStore
    let merges: AccountMergeStore

    init(on database: PostgresPool) {
        accounts = AccountStore(database: database)
        identifiers = IdentifierStore(database: database)
        passwords = PasswordStore(database: database)
        resets = PasswordResetStore(database: database)
        appleIdentities = AppleIdentityStore(database: database)
        appleGrants = AppleGrantStore(
            database: database, sealer: Sealer(keys: .sample, purpose: AppleGrant.sealingPurpose))
        providers = AuthProviderStore(database: database, grants: appleGrants)
        deletions = AccountDeletionStore(database: database, grants: appleGrants)
        let messages = MessageQueue(
            senders: MessageSenders(), templates: .builtIn,
            sealer: Sealer(keys: .sample, purpose: MessageQueue.sealingPurpose), codeLink: nil, callingCodes: nil)
        merges = AccountMergeStore(
            database: database, grants: appleGrants, notices: AccountNotices(messages: messages, undoLink: nil))
    }
}

/// Gives the committed entries of the audit log their numbers, as a running service does.
func stampAudit(on pool: PostgresPool) async throws {
    try await EventFeedStore(database: pool, logger: .quiet).stamper.stamp()
}
