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
