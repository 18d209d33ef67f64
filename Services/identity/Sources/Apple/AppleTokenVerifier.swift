import AccessToken
import Contracts
import Crypto
import Foundation
import JWTKit
import Logging
import ServiceKit
import Verbatim

/// Finds out whether a JWS is Apple's, and reads it. Signature and form only; what the claims must say is
/// ``AppleTokenPolicy``'s.
struct AppleTokenVerifier: Sendable {
    let keys: AppleKeys
    let logger: Logger

    /// Apple's are about 1 KiB.
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

/// The three parts of a JWS in compact form (RFC 7515 §7.1), each in its one canonical spelling.
struct JWSParts {
    /// The key that the header names; `nil` unless the header says RS256 and asks for nothing that is not understood.
    let keyID: String?
    let payload: Data
    let signature: Data
    /// What the signature is over.
    let signed: Data

    init?(_ token: String) {
        let bytes = Array(token.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2]), !signature.isEmpty
        else { return nil }
        self.payload = Data(payload)
        self.signature = Data(signature)
        signed = Data(bytes[..<parts[1].endIndex])
        keyID = Self.keyID(in: Data(header))
    }

    private static func keyID(in header: Data) -> String? {
        struct Header: Decodable {
            var alg: String
            var kid: String
            var typ: String?
        }
        // Whatever would change how the token is to be read is refused, present at all (RFC 7515 §4.1.11).
        struct Extensions: Decodable {
            var isEmpty: Bool

            enum CodingKeys: String, CodingKey { case crit, b64, zip, enc }

            init(from decoder: any Decoder) throws {
                isEmpty = try decoder.container(keyedBy: CodingKeys.self).allKeys.isEmpty
            }
        }
        let header = Array(header)
        guard let fields = try? StrictJSON.decode(Header.self, from: header), fields.alg.isVerbatim("RS256"),
            Self.isJWT(fields.typ), (1...128).contains(fields.kid.utf8.count),
            let extensions = try? StrictJSON.decode(Extensions.self, from: header), extensions.isEmpty
        else { return nil }
        return fields.kid
    }

    /// RFC 7519 §5.1: in capitals by recommendation only, and mostly left out.
    private static func isJWT(_ type: String?) -> Bool {
        type.map { $0.utf8.count == 3 && $0.uppercased() == "JWT" } ?? true
    }
}
