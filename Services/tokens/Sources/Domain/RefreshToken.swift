import Bytes
import Crypto
import Foundation

/// A refresh token: `ghrt_` + base64url(key id ‖ session id ‖ generation ‖ 32 random bytes ‖ truncated HMAC).
///
/// The HMAC covers all bytes before it. By it junk is refused without a query, and an old token is known to be genuine
/// although PostgreSQL keeps only the hashes of the current token and its predecessor.
struct RefreshToken: Sendable, Equatable {
    static let prefix = "ghrt_"
    private static let textLength = 97

    private enum Layout {
        static let keyID = 0
        static let sessionID = 1..<17
        static let generation = 17..<21
        static let random = 21..<53
        static let code = 53..<69
        static let length = 69
    }

    /// All 69 bytes, 92 characters of base64url without a bit left over.
    let bytes: [UInt8]

    var keyID: UInt8 { bytes[Layout.keyID] }

    var sessionID: UUID {
        bytes.withUnsafeBytes {
            UUID(uuid: $0.loadUnaligned(fromByteOffset: Layout.sessionID.lowerBound, as: uuid_t.self))
        }
    }

    /// 0 for the token of a sign-in, one more with every rotation.
    var generation: Int32 {
        bytes[Layout.generation].reduce(0) { $0 << 8 | Int32($1) }
    }

    /// SHA-256 of the bytes: what PostgreSQL keeps of a token.
    var hash: [UInt8] { Array(SHA256.hash(data: bytes)) }

    var text: String { Self.prefix + Base64URL.string(bytes) }

    /// Makes a new token under the key that mints.
    init(sessionID: UUID, generation: Int32, keys: RefreshKeyRing) {
        let key = keys.minting
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Layout.length)
        bytes.append(key.id)
        withUnsafeBytes(of: sessionID.uuid) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: generation.bigEndian) { bytes.append(contentsOf: $0) }
        SymmetricKey(size: .bits256).withUnsafeBytes { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: key.code(for: bytes))
        self.bytes = bytes
    }

    /// Parses a token as a client sent it; `nil` when it is malformed. Does not check who made it.
    init?(text: String) {
        guard text.utf8.count == Self.textLength else { return nil }
        let utf8 = Array(text.utf8)
        guard utf8.starts(with: Self.prefix.utf8), let bytes = Base64URL.decode(utf8[Self.prefix.utf8.count...])
        else { return nil }
        self.init(bytes: bytes)
    }

    /// Parses a token's bytes; `nil` when their count is wrong, or when the generation leaves no room for a successor.
    init?(bytes: [UInt8]) {
        guard bytes.count == Layout.length, bytes[Layout.generation.lowerBound] < 0x80 else { return nil }
        self.bytes = bytes
        guard generation < .max else { return nil }
    }

    /// Whether this service made the token.
    func authenticity(under keys: RefreshKeyRing) -> Authenticity {
        guard let key = keys[keyID] else { return .unknownKey }
        let code = key.code(for: bytes[..<Layout.code.lowerBound])
        return constantTimeEqual(code, bytes[Layout.code]) ? .genuine : .forged
    }

    enum Authenticity: Sendable {
        case genuine
        case forged
        /// Made under a key that this replica does not have yet, or no longer. It is genuine if PostgreSQL has its
        /// hash.
        case unknownKey
    }
}

extension RefreshToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without the token, which must not end up in a log.
    var description: String { "RefreshToken(session: \(sessionID), generation: \(generation))" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: ["sessionID": sessionID, "generation": generation]) }
}
