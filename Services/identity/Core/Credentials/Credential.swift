import Foundation

/// A credential of a user (table `credentials`).
struct Credential: Sendable, Equatable {
    var id: UUID
    var name: CredentialName
    /// Whether a user has at most one credential of the name.
    var isSingle: Bool
    var origin: CredentialOrigin
}

/// A credential to be added to a user.
struct NewCredential: Sendable {
    let id = UUID()
    var userID: UUID
    var name: CredentialName
    /// The provider's identifier of the user; `nil` where the kind has none.
    var subject: String?
    /// An address that the provider told. It stands in for the user's own, and proves nothing.
    var email: String?
    var isSingle: Bool
    /// Whether the credential proves who the user is. A password does not.
    var isVerified: Bool
}
