import Bytes
import Foundation
import ServiceKit

/// The three parts of a JWS in compact form (RFC 7515 §7.1), each in its one canonical spelling.
struct JWSParts {
    /// The header's `kid`; `nil` unless the header says RS256 and has no parameter that this code does not implement.
    let keyID: String?
    let payload: Data
    let signature: Data
    /// What is signed.
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
        // Parameters that would change how the token has to be read are refused, whatever their value (RFC 7515
        // §4.1.11).
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

    /// `typ` may be left out; capitals are only recommended (RFC 7519 §5.1).
    private static func isJWT(_ type: String?) -> Bool {
        type.map { $0.utf8.count == 3 && $0.uppercased() == "JWT" } ?? true
    }
}
