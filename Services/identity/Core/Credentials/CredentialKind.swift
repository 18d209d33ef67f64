package import Foundation
package import GatehouseServiceContracts
package import Postgres

/// A kind of credential: what the service has to know of it wherever credentials of all kinds are treated alike.
///
/// No requirement has a default implementation: each kind says what it does, also where that is nothing.
package protocol CredentialKind: Sendable {
    /// As in the column `kind`.
    static var id: CredentialKindID { get }

    /// What an account needs, so that the kind opens it; `nil` while no sign-in with it is offered.
    var requirement: Reachability.Requirement? { get }

    /// Whether undoing the change of an identifier removes it whatever its age, because an attacker may have learned
    /// it.
    var isRemovedByUndo: Bool { get }

    /// The entry of the audit log when a credential is unlinked. Kinds without rows in `credentials` never add it.
    var unlinkedEvent: AuditEvent { get }

    /// Before a credential is removed: enqueues what has to be revoked elsewhere, and ends tasks that need it.
    func remove(_ credential: Credential, of userID: UUID, on transaction: PostgresTransaction) async throws

    /// After a merge has moved a credential: moves what is kept by user.
    func merge(
        _ credential: Credential, from: UUID, into: UUID, on transaction: PostgresTransaction
    ) async throws

    /// Adds the kind's part to the export of a user's data.
    func export(_ userID: UUID, into export: inout AccountExport) async throws

    /// Adds the kind's part to the lines of users.
    /// - Parameter withSecrets: whether to add what verifies the credential, such as a password's hash.
    func export(_ records: inout [UserRecord], withSecrets: Bool) async throws

    /// The credential in a line of an import; `nil` where there is none.
    /// - Throws: what is wrong with the line.
    func read(_ record: UserRecord, of userID: UUID) throws(Refusal) -> ImportedCredential?

    /// Adds the details of credentials that an import has added.
    func addDetails(of credentials: [ImportedCredential], on transaction: PostgresTransaction) async throws
}

/// A credential in a line of an import.
package struct ImportedCredential: Sendable {
    package var credential: NewCredential
    /// In the form of the kind.
    package var details: String

    package init(credential: NewCredential, details: String) {
        self.credential = credential
        self.details = details
    }
}
