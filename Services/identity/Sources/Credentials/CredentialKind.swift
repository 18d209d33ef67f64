import Contracts
import Foundation
import Postgres
import ServiceKit

/// A kind of credential: what the service has to know of it wherever credentials of all kinds are treated alike.
///
/// No requirement has a default implementation: each kind says what it does, also where that is nothing.
protocol CredentialKind: Sendable {
    /// As in the column `kind`.
    static var id: CredentialKindID { get }

    /// What an account needs, so that the kind opens it; `nil` while no sign-in with it is offered.
    var requirement: Reachability.Requirement? { get }

    /// Whether undoing the change of an identifier removes it whatever its age, because an attacker may have learned it.
    var isRemovedByUndo: Bool { get }

    /// The entry of the audit log when a credential is unlinked.
    var unlinkedEvent: AuditEvent { get }

    /// The field of a request that presents the kind, in a refusal.
    var field: String { get }

    /// Whether a request presents the kind.
    /// - Throws: `INVALID_REQUEST` for a field that is too long, whichever kind is presented.
    func isPresented(in request: PresentedCredential) throws(Problem) -> Bool

    /// Verifies the account that a signed-in user presents, and runs `body` with it. The credential is used up, where
    /// it is, if `body` succeeds or fails by the user's fault.
    /// - Throws: `INVALID_CREDENTIALS` or the kind's own refusal; `ACCOUNT_DISABLED`; what `body` throws.
    func verify<Value: Sendable>(
        _ request: PresentedCredential, of subject: VerificationSubject, context: GatehouseRequestContext,
        then body: (VerifiedAccount) async throws -> Value
    ) async throws -> Value

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

/// A credential in a line of an import, with its details in the form of the kind.
struct ImportedCredential: Sendable {
    var credential: NewCredential
    var details: any Sendable & Encodable
}

/// The account that a request of a signed-in user has to verify.
enum VerificationSubject: Sendable {
    /// That of the signed-in user.
    case account(of: ForwardedUser)
    /// Another account, which the signed-in user claims.
    case otherAccount(of: ForwardedUser)

    /// Whether the account may be the subject. A user who repeats a merge verifies the account that is left.
    func accepts(_ account: Account) -> Bool {
        switch self {
        case .account(let user): account.id == user.id
        case .otherAccount: true
        }
    }
}

/// How a user was verified.
struct Verification: Sendable {
    var kind: CredentialKindID
    /// For access tokens (RFC 8176).
    var methods: [AuthenticationMethod]
    /// An identifier that was verified with it.
    var identifier: Identifier?
    /// Whether users of the kind request messages, whose limits know the user's networks.
    var requestsMessages: Bool
}

/// An account, and how its user was verified.
struct VerifiedAccount: Sendable {
    var account: Account
    var verification: Verification
}
