import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import GatehouseServiceContracts
import GatehouseServiceKit
import Logging

/// Verifies the form and signature of Apple's JWS, and decodes it. ``AppleTokenPolicy`` checks the claims.
struct AppleTokenVerifier: Sendable {
    let keys: AppleKeys
    let logger: Logger

    /// In bytes. Apple's tokens have about 1 KiB.
    static let maximumLength = 8192

    /// - Returns: `nil` when the token is not Apple's or not well-formed.
    /// - Throws: `UNAVAILABLE` when Apple's keys are not available, or OpenSSL failed.
    func claims<Claims: Decodable>(_ type: Claims.Type, of token: String) async throws(Problem) -> Claims? {
        guard token.utf8.count <= Self.maximumLength, let parts = JWSParts(token), let kid = parts.keyID,
            let key = try await keys.key(kid)
        else {
            logger.info("An Apple token was refused", metadata: ["reason": "form or key"])
            return nil
        }
        do throws(AccessTokenError) {
            let payload = try key.payload(of: parts.compact)
            if let claims = try? StrictJSON.decode(Claims.self, from: payload) { return claims }
        } catch {
            try Self.throwIfCryptographyFailed(error)
        }
        logger.info("An Apple token was refused", metadata: ["reason": "signature or claims"])
        return nil
    }

    /// - Throws: `UNAVAILABLE` when OpenSSL failed. The token may be genuine.
    static func throwIfCryptographyFailed(_ error: AccessTokenError) throws(Problem) {
        guard error.code != .cryptography else { throw Problem(.unavailable) }
    }
}

/// The three parts of a JWS in compact form (RFC 7515 §7.1), each in its one canonical encoding.
struct JWSParts {
    /// The header's `kid`; `nil` unless the header says RS256 and has no member that changes how the token is read.
    let keyID: String?
    let payload: [UInt8]
    let compact: CompactParts

    init?(_ token: String) {
        guard let parts = try? CompactParts(Array(token.utf8)), Base64URL.decode(parts.header) != nil,
            let payload = Base64URL.decode(parts.payload), !parts.signature.isEmpty
        else { return nil }
        self.payload = payload
        compact = parts
        keyID = Self.keyID(in: parts.header)
    }

    /// Apple is another issuer: its header may have members of its own, which are ignored.
    private static func keyID(in encoded: ArraySlice<UInt8>) -> String? {
        guard let header = try? JOSEHeader(foreign: encoded), header.algorithm == "RS256", header.isJWT,
            (1...128).contains(header.kid.text.utf8.count)
        else { return nil }
        return header.kid.text
    }
}
