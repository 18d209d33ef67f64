import Contracts
import Foundation
import JWTKit
import Logging
import ServiceKit

/// Verifies that a JWS is Apple's, and reads it: its form and its signature. ``AppleTokenPolicy`` judges the claims.
struct AppleTokenVerifier: Sendable {
    let keys: AppleKeys
    let logger: Logger

    /// In bytes. Apple's tokens have about 1 KiB.
    static let maximumLength = 8192

    /// - Returns: `nil` when the token is not Apple's or not well-formed.
    /// - Throws: `UNAVAILABLE` when Apple's keys cannot be had.
    func claims<Claims: Decodable>(_ type: Claims.Type, of token: String) async throws(Problem) -> Claims? {
        guard token.utf8.count <= Self.maximumLength, let parts = JWSParts(token), let kid = parts.keyID,
            let key = try await keys.key(kid)
        else {
            logger.info("An Apple token was refused", metadata: ["reason": "form or key"])
            return nil
        }
        guard (try? key.verify(parts.signature, signs: parts.signed)) == true,
            let claims = try? StrictJSON.decode(Claims.self, from: Array(parts.payload))
        else {
            logger.info("An Apple token was refused", metadata: ["reason": "signature or claims"])
            return nil
        }
        return claims
    }
}
