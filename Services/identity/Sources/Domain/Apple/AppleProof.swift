import Foundation

/// What a verified identity token of Apple says of the user.
struct AppleProof: Sendable {
    var subject: String
    /// The app's identifier that the token was made for.
    var clientID: String
    var email: EmailAddress?
    var emailVerified: Bool
    /// When Apple issued the token.
    var issuedAt: Date
    /// The user's name at Apple while the app changes teams.
    var transferSubject: String?

    init(_ claims: AppleIdentityClaims) {
        subject = claims.subject
        clientID = claims.audience
        // An address that Gatehouse does not accept must not fail the sign-in. It is left out.
        email = claims.email.flatMap { try? EmailAddress($0) }
        emailVerified = claims.emailVerified
        transferSubject = claims.transferSubject.flatMap { (1...255).contains($0.utf8.count) ? $0 : nil }
        issuedAt = Date(timeIntervalSince1970: Double(claims.issuedAt))
    }

    /// The address that Apple vouches for.
    var provenEmail: Identifier? {
        emailVerified ? email.map(Identifier.email) : nil
    }
}
