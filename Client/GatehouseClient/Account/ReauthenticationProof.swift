import Contracts

/// What proves once more who the user is: as for signing in, and never printed.
public struct ReauthenticationProof: Sendable {
    enum Content: Sendable {
        case credential(ReauthenticateRequest)
        case code(VerifyCodeRequest)
    }

    let content: Redacted<Content>

    /// - Parameter password: as it was set.
    public static func password(_ password: String) -> Self {
        Self(content: Redacted(.credential(ReauthenticateRequest(password: password))))
    }

    /// What Apple's dialog gave, for the Apple account that the user signs in with.
    ///
    /// - Parameters:
    ///   - identityToken: its text. It expires after some minutes.
    ///   - nonce: the one that Apple's dialog was given.
    public static func apple(identityToken: String, nonce: AppleNonce? = nil) -> Self {
        Self(
            content: Redacted(
                .credential(ReauthenticateRequest(identityToken: identityToken, nonce: nonce?.value))))
    }

    /// Six digits that were asked for with the purpose `stepUp`.
    ///
    /// - Parameters:
    ///   - code: as they were typed.
    ///   - identifier: the user's own address or number, proved before, to which they were sent.
    ///   - asked: what ``GatehouseClient/askForCode(identifier:purpose:)`` returned, where this device asked.
    public static func code(_ code: String, identifier: String, asked: CodeResponse? = nil) -> Self {
        Self(
            content: Redacted(
                .code(VerifyCodeRequest(identifier: identifier, code: code, codeRequest: asked?.codeRequest))))
    }
}
