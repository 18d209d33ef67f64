import AccessToken
import Bytes
import Contracts
import Foundation
import Logging
import ServiceKit

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
    /// The header's `kid`; `nil` unless the header says RS256 and has no parameter that this code does not implement.
    let keyID: String?
    let payload: [UInt8]
    let compact: CompactParts

    init?(_ token: String) {
        guard let parts = try? CompactParts(Array(token.utf8)), let header = Base64URL.decode(parts.header),
            let payload = Base64URL.decode(parts.payload), !parts.signature.isEmpty
        else { return nil }
        self.payload = payload
        compact = parts
        keyID = Self.keyID(in: header)
    }

    private static func keyID(in header: [UInt8]) -> String? {
        struct Header: Decodable {
            var alg: String
            var kid: String
            var typ: String?
        }
        // Parameters that would change how the token must be read are refused, whatever their value (RFC 7515 §4.1.11).
        struct Extensions: Decodable {
            var isEmpty: Bool

            enum CodingKeys: String, CodingKey { case crit, b64, zip, enc }

            init(from decoder: any Decoder) throws {
                isEmpty = try decoder.container(keyedBy: CodingKeys.self).allKeys.isEmpty
            }
        }
        guard let fields = try? StrictJSON.decode(Header.self, from: header), fields.alg.isVerbatim("RS256"),
            Self.isJWT(fields.typ), (1...128).contains(fields.kid.utf8.count),
            let extensions = try? StrictJSON.decode(Extensions.self, from: header), extensions.isEmpty
        else { return nil }
        return fields.kid
    }

    /// `typ` is optional, and its upper case only recommended (RFC 7519 §5.1).
    private static func isJWT(_ type: String?) -> Bool {
        type.map { $0.utf8.count == 3 && $0.uppercased() == "JWT" } ?? true
    }
}
