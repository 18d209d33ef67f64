import Foundation
import JWTKit

/// The team's `client_secret` at Apple: a JWT that is signed with the team's own key. It is made anew for each call; one
/// that was made once would expire some day, and sign-in would end with it.
struct AppleClientSecret: Sendable {
    let teamID: String
    let keyID: String
    private let key: ES256PrivateKey

    /// Seconds; Apple allows six months.
    static let lifetime: TimeInterval = 300

    /// - Parameter pem: the `.p8` file that Apple gave out (PKCS #8, P-256).
    init(teamID: String, keyID: String, pem: String) throws {
        self.teamID = teamID
        self.keyID = keyID
        // RFC 7468 allows lines of comment before the key; the parser does not.
        let start = pem.range(of: "-----BEGIN")?.lowerBound ?? pem.startIndex
        key = try ES256PrivateKey(pem: String(pem[start...]))
    }

    func make(clientID: String, now: Date) async throws -> String {
        let keys = JWTKeyCollection()
        let identifier = JWKIdentifier(string: keyID)
        await keys.add(ecdsa: key, kid: identifier)
        let claims = Claims(
            iss: teamID, iat: Int(now.timeIntervalSince1970), exp: Int(now.timeIntervalSince1970 + Self.lifetime),
            aud: "https://appleid.apple.com", sub: clientID)
        return try await keys.sign(claims, kid: identifier)
    }

    private struct Claims: JWTPayload {
        var iss: String
        var iat: Int
        var exp: Int
        var aud: String
        var sub: String

        func verify(using algorithm: some JWTAlgorithm) {}
    }
}
