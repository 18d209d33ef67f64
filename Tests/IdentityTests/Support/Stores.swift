import Postgres
import Sealing
import ServiceKitPostgres
import TestKit

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

/// What identity keeps, in a test's own database.
struct Stores: Sendable {
    let accounts: AccountStore
    let identifiers: IdentifierStore
    let identifierChanges: IdentifierChangeStore
    let passwords: PasswordStore
    let resets: PasswordResetStore
    let appleIdentities: AppleIdentityStore
    let appleGrants: AppleGrantStore
    let registry: CredentialRegistry
    let unlinking: Unlinking
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
        registry = CredentialRegistry(kinds: [
            PasswordCredential(passwords: passwords, importKeys: .init(peppers: ["p1"])),
            AppleCredential(identities: appleIdentities, grants: appleGrants, isOffered: true),
            CodeCredential(channels: []),
        ])
        identifierChanges = IdentifierChangeStore(database: database, registry: registry)
        unlinking = Unlinking(database: database, registry: registry)
        deletions = AccountDeletionStore(database: database, registry: registry)
        let messages = MessageQueue(
            senders: MessageSenders(), templates: .builtIn,
            sealer: Sealer(keys: .sample, purpose: MessageQueue.sealingPurpose), codeLink: nil, callingCodes: nil)
        merges = AccountMergeStore(
            database: database, registry: registry,
            notices: AccountNotices(notices: SecurityNotices(messages: messages), undoLink: nil))
    }
}

/// Gives the committed entries of the audit log their numbers, as a running service does.
func sequenceAudit(on pool: PostgresPool) async throws {
    try await EventFeedStore(database: pool, logger: .quiet).sequencer.sequence()
}
