public import Foundation

/// What Apple's dialog gave (`ASAuthorizationAppleIDCredential`), and the nonce that it was given.
public struct AppleCredential: Sendable, Equatable {
    public var identityToken: Redacted<String>
    public var authorizationCode: Redacted<String>?
    public var nonce: AppleNonce?
    /// Told with the first sign-in only.
    public var fullName: PersonNameComponents?

    public init(
        identityToken: Redacted<String>, authorizationCode: Redacted<String>? = nil, nonce: AppleNonce? = nil,
        fullName: PersonNameComponents? = nil
    ) {
        self.identityToken = identityToken
        self.authorizationCode = authorizationCode
        self.nonce = nonce
        self.fullName = fullName
    }
}
