import GatehouseContracts
import Foundation

/// A credential for reauthentication. It is never printed.
public struct ReauthenticationProof: Sendable {
    enum Content: Sendable {
        case credential(ReauthenticateRequest)
        case code(VerifyCodeRequest)
    }

    let content: Redacted<Content>

    /// - Parameter password: the user's password.
    public static func password(_ password: String) -> Self {
        Self(content: Redacted(.credential(ReauthenticateRequest(password: password))))
    }

    /// The result of Apple's dialog for the user's linked Apple account.
    public static func apple(_ credential: AppleCredential) -> Self {
        Self(
            content: Redacted(
                .credential(
                    ReauthenticateRequest(
                        identityToken: credential.identityToken.value, nonce: credential.nonce?.value))))
    }

    /// A six-digit code, requested with the purpose `stepUp`.
    ///
    /// - Parameters:
    ///   - code: the six digits as the user typed them.
    ///   - identifier: the user's own verified address or number, which received the code.
    ///   - asked: the result of ``GatehouseClient/requestCode(identifier:purpose:)``, if this device requested it.
    public static func code(_ code: String, identifier: String, asked: CodeResponse? = nil) -> Self {
        Self(
            content: Redacted(
                .code(VerifyCodeRequest(identifier: identifier, code: code, codeRequest: asked?.codeRequest))))
    }
}

/// A credential of another account, which shows that it belongs to the same user. It is never printed.
public struct MergeProof: Sendable {
    let request: Redacted<MergeRequest>

    /// - Parameters:
    ///   - password: the other account's password.
    ///   - identifier: an identifier of the other account. If it is absent, the account is the one in
    ///     `User.mergeableIdentifiers`.
    public static func password(_ password: String, identifier: String? = nil) -> Self {
        Self(request: Redacted(MergeRequest(password: password, identifier: identifier)))
    }

    /// The result of Apple's dialog for the other account's linked Apple account.
    public static func apple(_ credential: AppleCredential) -> Self {
        Self(
            request: Redacted(
                MergeRequest(identityToken: credential.identityToken.value, nonce: credential.nonce?.value)))
    }

    /// A six-digit code, requested with the purpose `merge`.
    ///
    /// - Parameters:
    ///   - code: the six digits as the user typed them.
    ///   - identifier: the other account's verified address or number, which received the code.
    ///   - asked: the result of ``GatehouseClient/requestCode(identifier:purpose:)``, if this device requested it.
    public static func code(_ code: String, identifier: String, asked: CodeResponse? = nil) -> Self {
        Self(
            request: Redacted(MergeRequest(code: code, identifier: identifier, codeRequest: asked?.codeRequest)))
    }
}

/// Reads an identity token without verifying it. Only the server verifies tokens.
enum AppleIdentityToken {
    /// Apple's identifier of the user (`sub`), which is also `ASAuthorizationAppleIDCredential.user`. The system needs
    /// it to report whether the user still consents.
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

/// Binds a sign-in with Apple to the request that began it. Apple puts the nonce into the identity token.
///
/// Pass the same value to Apple and to the server. The server also accepts a token with the nonce's SHA-256, because
/// apps that follow Apple's older samples pass that to Apple.
///
/// ```swift
/// let nonce = try await client.appleNonce()
/// request.nonce = nonce.value                    // ASAuthorizationAppleIDRequest
/// ```
public struct AppleNonce: Sendable, Hashable {
    public let value: String

    public init(_ value: String) { self.value = value }

    /// Creates a nonce without the server: 32 random hexadecimal digits.
    public static func random() -> AppleNonce {
        AppleNonce(String((0..<32).map { _ in hexadecimal[Int.random(in: 0..<16)] }))
    }

    private static let hexadecimal = Array("0123456789abcdef")
}
