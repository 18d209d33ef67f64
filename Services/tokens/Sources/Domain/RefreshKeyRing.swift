import Crypto
import Foundation

/// A secret of the service for refresh tokens, which is kept in a file and never in PostgreSQL. Two keys are derived
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

/// The service's keys for refresh tokens. The first one mints tokens; all of them verify tokens and open successors.
///
/// To replace the key: add a new one at the end, on every replica; then move it to the front, on every replica; remove
/// the old one an idle lifetime later, when no session is left that was last rotated under it.
struct RefreshKeyRing: Sendable {
    let minting: RefreshKey
    private let keys: [UInt8: RefreshKey]

    subscript(id: UInt8) -> RefreshKey? { keys[id] }

    var ids: Set<UInt8> { Set(keys.keys) }

    /// Reads the keys file: a line `ID:KEY` each, ID 0 to 255, KEY 32 bytes in base64; `#` begins a comment line.
    ///
    /// - Throws: what is wrong, by line, never with a secret in it.
    init(file: String) throws(RefreshKeyFileError) {
        var ring: [UInt8: RefreshKey] = [:]
        var first: RefreshKey?
        for (index, line) in file.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let id = UInt8(parts[0]) else {
                throw RefreshKeyFileError("line \(index + 1): want ID:KEY with ID from 0 to 255")
            }
            // Foundation also accepts text with excess padding.
            guard let secret = Data(base64Encoded: String(parts[1])), secret.count == 32,
                secret.base64EncodedString() == parts[1]
            else {
                throw RefreshKeyFileError("line \(index + 1): the key is not 32 bytes in base64")
            }
            guard ring[id] == nil else { throw RefreshKeyFileError("line \(index + 1): id \(id) occurs twice") }
            let key = RefreshKey(id: id, secret: SymmetricKey(data: secret))
            ring[id] = key
            first = first ?? key
        }
        guard let first else { throw RefreshKeyFileError("holds no key") }
        self.minting = first
        self.keys = ring
    }
}

/// What is wrong with a refresh keys file.
struct RefreshKeyFileError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
