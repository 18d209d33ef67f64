import Contracts

/// What proves that another account is the user's too: as for signing in there, and never printed.
public struct MergeProof: Sendable {
    let request: Redacted<MergeRequest>

    /// - Parameters:
    ///   - password: of the other account.
    ///   - identifier: what it is signed in to with. Without one it is the account that `User.mergeableIdentifiers`
    ///     tells of.
    public static func password(_ password: String, identifier: String? = nil) -> Self {
        Self(request: Redacted(MergeRequest(password: password, identifier: identifier)))
    }

    /// What Apple's dialog gave, for the Apple account that the other account is signed in to with.
    ///
    /// - Parameters:
    ///   - identityToken: its text. It expires after some minutes.
    ///   - nonce: the one that Apple's dialog was given.
    public static func apple(identityToken: String, nonce: AppleNonce? = nil) -> Self {
        Self(request: Redacted(MergeRequest(identityToken: identityToken, nonce: nonce?.value)))
    }

    /// Six digits that were asked for with the purpose `merge`.
    ///
    /// - Parameters:
    ///   - code: as they were typed.
    ///   - identifier: the address or number that the other account has proved, to which they were sent.
    ///   - asked: what ``GatehouseClient/askForCode(identifier:purpose:)`` returned, where this device asked.
    public static func code(_ code: String, identifier: String, asked: CodeResponse? = nil) -> Self {
        Self(
            request: Redacted(MergeRequest(code: code, identifier: identifier, codeRequest: asked?.codeRequest)))
    }
}
