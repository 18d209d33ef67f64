import Crypto
import Foundation
import GatehouseBytes
import Sealing

/// A refresh token: `ghrt_` + base64url(key id ‖ session id ‖ generation ‖ 32 random bytes ‖ truncated HMAC).
///
/// The HMAC covers all bytes before it. So the service refuses forged tokens without a query. It also recognizes an old
/// token as genuine, although PostgreSQL keeps only the hashes of the current token and its predecessor.
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

    /// All 69 bytes, which are exactly 92 characters of base64url.
    let bytes: [UInt8]

    var keyID: UInt8 { bytes[Layout.keyID] }

    var sessionID: UUID {
        bytes.withUnsafeBytes {
            UUID(uuid: $0.loadUnaligned(fromByteOffset: Layout.sessionID.lowerBound, as: uuid_t.self))
        }
    }

    /// 0 for the token of a sign-in. Every rotation adds one.
    var generation: Int32 {
        bytes[Layout.generation].reduce(0) { $0 << 8 | Int32($1) }
    }

    /// SHA-256 of the bytes. PostgreSQL stores only this hash.
    var hash: [UInt8] { Array(SHA256.hash(data: bytes)) }

    var text: String { Self.prefix + Base64URL.string(bytes) }

    /// Mints a new token under the minting key.
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

    /// Parses a token as a client sent it; `nil` when it is malformed. Does not verify the HMAC.
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
        /// Minted under a key that this replica does not have yet or no longer has. The token is genuine if PostgreSQL
        /// has its hash.
        case unknownKey
    }
}

extension RefreshToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Omits the token, which must not be logged.
    var description: String { "RefreshToken(session: \(sessionID), generation: \(generation))" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: ["sessionID": sessionID, "generation": generation]) }
}

/// A secret of the service for refresh tokens. It is stored in a file and never in PostgreSQL. Two keys are derived
/// from it: one for the tokens' HMAC, one for sealing successors.
struct RefreshKey: Sendable {
    /// Bytes of the truncated HMAC-SHA256 in a token.
    static let codeLength = 16

    let id: UInt8
    private let authentication: SymmetricKey
    /// The salt of the keys that successors are sealed under.
    let salt: SymmetricKey

    init(id: UInt8, secret: SymmetricKey) {
        self.id = id
        self.authentication = Self.derive("gatehouse refresh token authentication", from: secret)
        self.salt = Self.derive("gatehouse refresh token successor", from: secret)
    }

    /// The truncated HMAC that ends a token.
    func code(for bytes: some DataProtocol) -> ArraySlice<UInt8> {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: authentication)).prefix(Self.codeLength)
    }

    private static func derive(_ purpose: String, from secret: SymmetricKey) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: Data(purpose.utf8), outputByteCount: 32)
    }
}

/// The service's keys for refresh tokens. The first key mints tokens; all keys verify tokens and open successors.
///
/// To replace the key: add a new one at the end, on every replica. Then move it to the front, on every replica. Remove
/// the old one after the idle lifetime of a session, when no session that was last rotated under it is left.
struct RefreshKeyRing: Sendable {
    let minting: RefreshKey
    private let keys: [UInt8: RefreshKey]

    subscript(id: UInt8) -> RefreshKey? { keys[id] }

    var ids: Set<UInt8> { Set(keys.keys) }

    /// Reads the keys file (``KeyLine``), whose ids are numbers from 0 to 255.
    ///
    /// - Throws: the problem and its line, never a secret.
    init(file: String) throws(KeyRingError) {
        var ring: [UInt8: RefreshKey] = [:]
        var first: RefreshKey?
        for line in try KeyLine.all(in: file) {
            guard let id = UInt8(line.id) else {
                throw KeyRingError("holds an id on line \(line.number) that is not a number from 0 to 255")
            }
            guard ring[id] == nil else { throw KeyRingError("holds id \(id) twice") }
            let key = RefreshKey(id: id, secret: line.secret)
            ring[id] = key
            first = first ?? key
        }
        guard let first else { throw KeyRingError("holds no key") }
        self.minting = first
        self.keys = ring
    }

    /// A random key as a placeholder: the settings are wrong, and the service will not run.
    static var placeholder: RefreshKeyRing {
        RefreshKeyRing(minting: RefreshKey(id: 0, secret: SymmetricKey(size: .bits256)))
    }

    private init(minting: RefreshKey) {
        self.minting = minting
        keys = [minting.id: minting]
    }
}

/// PostgreSQL stores the current token sealed. The sealing key is derived from the predecessor and a server key. So a
/// client that presents the predecessor again receives the same successor, and an attacker cannot obtain a token from
/// the database alone.
extension RefreshKeyRing {
    /// Key id ‖ nonce ‖ AES-GCM(successor) ‖ tag.
    ///
    /// - Throws: `failed` when the cryptographic library refuses to encrypt.
    func seal(
        _ successor: RefreshToken, under predecessor: RefreshToken
    ) throws(SuccessorSealError) -> [UInt8] {
        let key = Self.sealingKey(predecessor, minting)
        guard
            let box = try? AES.GCM.seal(successor.bytes, using: key, authenticating: Self.context(of: predecessor)),
            let combined = box.combined
        else { throw .failed }
        return [minting.id] + combined
    }

    /// The successor of `predecessor` that was sealed at the rotation.
    func open(_ sealed: [UInt8], with predecessor: RefreshToken) throws(SuccessorSealError) -> RefreshToken {
        guard let id = sealed.first else { throw .broken }
        guard let key = self[id] else { throw .unknownKey(id) }
        guard
            let box = try? AES.GCM.SealedBox(combined: sealed.dropFirst()),
            let bytes = try? AES.GCM.open(
                box, using: Self.sealingKey(predecessor, key), authenticating: Self.context(of: predecessor)),
            let successor = RefreshToken(bytes: Array(bytes))
        else { throw .broken }
        return successor
    }

    private static func sealingKey(_ predecessor: RefreshToken, _ key: RefreshKey) -> SymmetricKey {
        key.salt.withUnsafeBytes { salt in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: predecessor.bytes), salt: salt,
                info: Data("gatehouse sealed successor".utf8), outputByteCount: 32)
        }
    }

    /// Session id and the successor's generation.
    private static func context(of predecessor: RefreshToken) -> [UInt8] {
        var context: [UInt8] = []
        withUnsafeBytes(of: predecessor.sessionID.uuid) { context.append(contentsOf: $0) }
        withUnsafeBytes(of: (predecessor.generation + 1).bigEndian) { context.append(contentsOf: $0) }
        return context
    }
}

/// Why a successor cannot be sealed or opened.
enum SuccessorSealError: Error, Equatable {
    /// It was sealed under a server key that this replica does not have. Another replica may have the key.
    case unknownKey(UInt8)
    /// No rotation of this predecessor sealed it.
    case broken
    /// The cryptographic library refused to encrypt.
    case failed
}
