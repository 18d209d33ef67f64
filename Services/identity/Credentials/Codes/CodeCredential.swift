import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore
import Postgres

extension CredentialKindID {
    static let code = Self(rawValue: "code")
}

/// Codes that are sent to verified identifiers, as a kind of credential. The identifiers are the credentials: they have
/// a table of their own, are listed as identifiers, and are changed, merged and undone as such.
struct CodeCredential: CredentialKind {
    /// The kinds of identifiers to which messages are sent.
    let channels: Set<Identifier.Kind>

    static let id = CredentialKindID.code
    var requirement: Reachability.Requirement? { .verifiedIdentifier(channels) }
    let isRemovedByUndo = false
    let unlinkedEvent = AuditEvent.identifierRemoved

    func remove(_ credential: Credential, of userID: UUID, on transaction: PostgresTransaction) {}

    func merge(_ credential: Credential, from: UUID, into: UUID, on transaction: PostgresTransaction) {}

    /// The user in the export has the identifiers.
    func export(_ userID: UUID, into export: inout AccountExport) {}

    /// The lines have the identifiers.
    func export(_ records: inout [UserRecord], withSecrets: Bool) {}

    func read(_ record: UserRecord, of userID: UUID) -> ImportedCredential? { nil }

    func addDetails(of credentials: [ImportedCredential], on transaction: PostgresTransaction) {}
}

extension Verification {
    /// A text message is weaker evidence than a mail (NIST SP 800-63B §5.1.3), so the access token names the channel.
    static func code(to identifier: Identifier) -> Verification {
        Verification(
            credential: CredentialName(.code),
            methods: identifier.kind == .phone ? [.oneTimeCode, .textMessage] : [.oneTimeCode],
            identifier: identifier, requestsMessages: true)
    }
}
