public import Crypto
public import Foundation

/// Named keys. The first key seals new values, and all keys open existing ones. So a key can be replaced without a
/// moment at which one is unknown.
public struct KeyRing: Sendable {
    /// One key and its name.
    public struct Key: Sendable {
        /// 1 to 16 letters, digits, `-` or `_`.
        public let id: String
        /// 32 bytes.
        public let secret: SymmetricKey
    }

    /// The key for new values.
    public let current: Key
    private let byID: [String: SymmetricKey]

    /// - Parameter text: the contents of a keys file (``KeyLine``).
    /// - Throws: ``KeyRingError``, which names no secret.
    public init(_ text: String) throws(KeyRingError) {
        var keys: [Key] = []
        var byID: [String: SymmetricKey] = [:]
        for line in try KeyLine.all(in: text) {
            guard Self.isID(line.id) else {
                throw KeyRingError("holds an id on line \(line.number) that is not 1 to 16 letters, digits, - or _")
            }
            let key = Key(id: line.id, secret: line.secret)
            guard byID.updateValue(key.secret, forKey: key.id) == nil else {
                throw KeyRingError("holds two keys of the name \(key.id)")
            }
            keys.append(key)
        }
        guard let first = keys.first else { throw KeyRingError("holds no key") }
        current = first
        self.byID = byID
    }

    /// The name of every key, in no particular order.
    public var ids: [String] { Array(byID.keys) }

    /// Every key, in no particular order.
    public var all: [SymmetricKey] {
        Array(byID.values)
    }

    /// The key of that name.
    public subscript(id: String) -> SymmetricKey? {
        byID[id]
    }

    /// Keys derived from these for another purpose (HKDF, RFC 5869), under the same names.
    public func derived(for purpose: String) -> KeyRing {
        KeyRing(
            current: Key(id: current.id, secret: Self.derive(current.secret, purpose)),
            byID: byID.mapValues { Self.derive($0, purpose) })
    }

    private init(current: Key, byID: [String: SymmetricKey]) {
        self.current = current
        self.byID = byID
    }

    /// A random key as a placeholder: the settings are wrong, and the service will not run.
    public static var placeholder: KeyRing {
        let key = Key(id: "none", secret: SymmetricKey(size: .bits256))
        return KeyRing(current: key, byID: [key.id: key.secret])
    }

    private static func derive(_ secret: SymmetricKey, _ purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: Data(purpose.utf8), outputByteCount: 32)
    }

    private static func isID(_ text: String) -> Bool {
        (1...16).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

/// A line `ID:BASE64` of a keys file: a key of 32 bytes and its name. Blank lines and lines that begin with `#` are
/// ignored.
public struct KeyLine: Sendable {
    /// The number of the line, from 1.
    public let number: Int
    /// Not empty.
    public let id: String
    /// 32 bytes.
    public let secret: SymmetricKey

    /// - Throws: ``KeyRingError``, which names the line and no secret.
    public static func all(in text: String) throws(KeyRingError) -> [KeyLine] {
        var lines: [KeyLine] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else {
                throw KeyRingError("must hold lines of the form ID:BASE64, which line \(index + 1) does not have")
            }
            // Foundation also accepts text with excess padding.
            guard let bytes = Data(base64Encoded: String(parts[1])), bytes.count == 32,
                bytes.base64EncodedString() == parts[1]
            else { throw KeyRingError("holds a key on line \(index + 1) that is not 32 bytes in base64") }
            lines.append(KeyLine(number: index + 1, id: String(parts[0]), secret: SymmetricKey(data: bytes)))
        }
        return lines
    }
}

/// Seals secrets before they are stored in a database, so that the database alone does not reveal them: AES-256-GCM
/// under a key outside the database.
///
/// Form: length of the key's name ‖ the name ‖ nonce ‖ ciphertext ‖ tag.
public struct Sealer: Sendable {
    private let keys: KeyRing

    /// - Parameter purpose: sealed values open for this purpose only. It must never change, or stored values would not
    ///   open.
    public init(keys: KeyRing, purpose: String) {
        self.keys = keys.derived(for: purpose)
    }

    /// Every value that is sealed under the current key begins with this, and no other.
    public var prefix: Data {
        Data([UInt8(keys.current.id.utf8.count)] + keys.current.id.utf8)
    }

    /// Seals a secret.
    ///
    /// - Parameter context: what the secret belongs to; a sealed value moved to another place does not open there.
    public func seal(_ secret: Data, context: String) throws -> Data {
        let box = try AES.GCM.seal(secret, using: keys.current.secret, authenticating: Data(context.utf8))
        var sealed = prefix
        sealed.append(contentsOf: box.nonce)
        sealed.append(box.ciphertext)
        sealed.append(box.tag)
        return sealed
    }

    /// Opens a sealed value. `nil` when the value is damaged, has another context, or was sealed under a key that is no
    /// longer known.
    public func open(_ sealed: Data, context: String) -> Data? {
        guard let length = sealed.first, sealed.count > 1 + Int(length),
            let id = String(validating: sealed.dropFirst().prefix(Int(length)), as: UTF8.self), let key = keys[id],
            let box = try? AES.GCM.SealedBox(combined: sealed.dropFirst(1 + Int(length)))
        else { return nil }
        return try? AES.GCM.open(box, using: key, authenticating: Data(context.utf8))
    }
}

/// What is wrong with the text of a keys file, without a secret.
public struct KeyRingError: Error, Equatable, CustomStringConvertible {
    public let description: String

    /// - Parameter description: follows the file's name, as in "holds no key".
    public init(_ description: String) {
        self.description = description
    }
}
