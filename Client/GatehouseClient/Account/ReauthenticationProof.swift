import Contracts

/// What proves once more who the user is: as for signing in, and never printed.
public struct ReauthenticationProof: Sendable {
    let request: Redacted<ReauthenticateRequest>

    /// - Parameter password: as it was set.
    public static func password(_ password: String) -> Self {
        Self(request: Redacted(ReauthenticateRequest(password: password)))
    }

    /// What Apple's dialog gave, for the Apple account that the user signs in with.
    ///
    /// - Parameters:
    ///   - identityToken: its text. It expires after some minutes.
    ///   - nonce: the one that Apple's dialog was given.
    public static func apple(identityToken: String, nonce: AppleNonce? = nil) -> Self {
        Self(request: Redacted(ReauthenticateRequest(identityToken: identityToken, nonce: nonce?.value)))
    }
}
