import Contracts
import Foundation

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

/// What this library reads of an identity token. Whether it is genuine only the server decides.
enum AppleIdentityToken {
    /// Apple's name for the user (`sub`), by which the system is asked later whether they still consent; the same that
    /// `ASAuthorizationAppleIDCredential.user` says.
    static func subject(of token: String) -> String? {
        struct Claims: Decodable {
            var sub: String
        }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var base64 = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        return Data(base64Encoded: base64).flatMap { try? JSONDecoder().decode(Claims.self, from: $0) }?.sub
    }
}

/// Ties a sign-in with Apple to the request that began it: Apple puts it into the identity token.
///
/// It is given to Apple and to the server as it is. (The server would also find its SHA-256 in the token: apps that follow
/// Apple's older samples give Apple that.)
///
/// ```swift
/// let nonce = try await client.appleNonce()
/// request.nonce = nonce.value                    // ASAuthorizationAppleIDRequest
/// ```
public struct AppleNonce: Sendable, Hashable {
    public let value: String

    public init(_ value: String) { self.value = value }

    /// One that needs no server: 32 random hexadecimal digits.
    public static func random() -> AppleNonce {
        AppleNonce(String((0..<32).map { _ in hexadecimal[Int.random(in: 0..<16)] }))
    }

    private static let hexadecimal = Array("0123456789abcdef")
}
