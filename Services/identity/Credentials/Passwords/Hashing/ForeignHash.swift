// Pure: no I/O, no clock.

import Foundation
import GatehouseBytes

/// A password hash from another system, in the text in which it is stored until its user signs in:
///
/// | | |
/// |---|---|
/// | Argon2 | `$argon2i$v=19$m=65536,t=3,p=4$SALT$HASH`, also `argon2d`, `argon2id`, `v=16` or none |
/// | bcrypt | `$2b$12$…`, also `$2a$` and `$2y$` |
/// | scrypt | `$scrypt$ln=15,r=8,p=1$SALT$HASH` |
/// | PBKDF2 | `$pbkdf2-sha256$i=600000$SALT$HASH`, passlib's `$pbkdf2-sha256$600000$…`, Django's `pbkdf2_sha256$600000$…` |
/// | Firebase | `$firebase-scrypt$ln=14,r=8,sep=SEPARATOR$SALT$HASH` |
/// | Firebase, from Supabase | `$fbscrypt$v=1,n=14,r=8,p=1,ss=SEPARATOR,sk=SIGNERKEY$SALT$HASH` |
/// | Spring | `{bcrypt}$2a$10$…` |
/// | Werkzeug | `pbkdf2:sha256:600000$SALT$HASH`, `scrypt:32768:8:1$SALT$HASH`: SALT is text, HASH hexadecimal |
/// | ASP.NET Core Identity, version 3 | base64: `AQAAAAI…` |
///
/// Elsewhere SALT, HASH, SEPARATOR and SIGNERKEY are base64 without padding; from Firebase also with it. Hashes that
/// take too much work are refused: the author of an import file must not decide how long a sign-in takes.
enum ForeignHash: Sendable, Equatable {
    case argon2(ForeignArgon2Hash)
    case bcrypt(BcryptHash)
    case scrypt(ScryptHash)
    case pbkdf2(PBKDF2Hash)
    case firebase(FirebaseHash)

    /// In bytes.
    static let saltLengths = 1...128
    static let hashLengths = 16...128

    /// `nil` when the text has none of the forms, or needs too much work.
    init?(_ text: String) {
        // Longer than any valid hash. Such a text is not parsed.
        guard text.utf8.count <= 1024 else { return nil }
        if let hash = BcryptHash(text) {
            self = .bcrypt(hash)
        } else if let hash = PBKDF2Hash(text) ?? PBKDF2Hash(werkzeug: text) ?? PBKDF2Hash(aspNet: text) {
            self = .pbkdf2(hash)
        } else if let hash = ScryptHash(werkzeug: text) {
            self = .scrypt(hash)
        } else if let hash = FirebaseHash(text) {
            self = .firebase(hash)
        } else if let phc = PHCString(text), Self.saltLengths.contains(phc.salt.count),
            Self.hashLengths.contains(phc.hash.count)
        {
            if let hash = ForeignArgon2Hash(phc) {
                self = .argon2(hash)
            } else if let hash = ScryptHash(phc) {
                self = .scrypt(hash)
            } else {
                return nil
            }
        } else {
            return nil
        }
    }
}

extension ForeignHash {
    /// Whether the hash depends on every byte of the password. If it does not, the rest may be anything, and must not
    /// come into a new hash.
    func readsAll(of password: [UInt8]) -> Bool {
        switch self {
        case .bcrypt: password.count <= BcryptHash.passwordLength && !password.contains(0)
        case .argon2: true
        // HMAC fills a short key with zeros (RFC 2104 §2).
        case .scrypt, .pbkdf2, .firebase: password.last != 0
        }
    }
}

/// bcrypt (Provos, Mazières 1999): `$2b$12$` and 53 characters of salt and hash; also after Spring's `{bcrypt}`. It
/// uses only the first 72 bytes of a password.
struct BcryptHash: Sendable, Equatable {
    /// The binary logarithm of the number of rounds. 14 takes about a second.
    static let costs = 4...14
    /// The bytes of a password that it uses.
    static let passwordLength = 72

    let text: String

    init?(_ text: String) {
        let text = text.hasPrefix("{bcrypt}") ? String(text.dropFirst(8)) : text
        let bytes = Array(text.utf8)
        guard bytes.count == 60, ["$2a$", "$2b$", "$2y$"].contains(text.prefix(4)), bytes[6] == UInt8(ascii: "$"),
            let cost = Int(text.dropFirst(4).prefix(2)), Self.costs.contains(cost), text.dropFirst(4).first != "+",
            bytes[7...].allSatisfy(Self.isDigit)
        else { return nil }
        self.text = text
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }
}

/// Firebase's variant of scrypt: `$firebase-scrypt$ln=MEM_COST,r=ROUNDS,sep=SEPARATOR$SALT$HASH`. scrypt derives a key
/// from the password. The hash is the project's signer key, encrypted with it. The signer key is in a file. Only
/// Supabase writes it into each hash.
struct FirebaseHash: Sendable, Equatable {
    var parameters: ScryptParameters
    var salt: [UInt8]
    /// Appended to the salt.
    var separator: [UInt8]
    /// As long as the signer key.
    var hash: [UInt8]
    /// `nil` where the signer key is in a file.
    var signerKey: [UInt8]?

    init?(_ text: String) {
        guard let phc = PHCString(text, isPadded: true), phc.version == nil,
            ForeignHash.saltLengths.contains(phc.salt.count), ForeignHash.hashLengths.contains(phc.hash.count)
        else { return nil }
        let cost: [Int]?
        let separatorName: String
        switch phc.algorithm {
        case "firebase-scrypt":
            cost = phc.numbers("ln", "r", optional: ["sep"])
            separatorName = "sep"
        case "fbscrypt":
            guard phc.parameters["v"] == "1", phc.parameters["p"] == "1" else { return nil }
            cost = phc.numbers("n", "r", optional: ["v", "p", "ss", "sk"])
            separatorName = "ss"
            if let key = phc.parameters["sk"] {
                guard let bytes = PHCString.base64(key, isPadded: true), bytes.count == phc.hash.count else {
                    return nil
                }
                signerKey = bytes
            }
        default: return nil
        }
        guard let cost, let parameters = ScryptParameters(logN: cost[0], r: cost[1], p: 1),
            let separator = PHCString.base64(phc.parameters[separatorName] ?? "", isPadded: true), separator.count <= 64
        else { return nil }
        self.parameters = parameters
        self.separator = separator
        salt = phc.salt
        hash = phc.hash
    }
}

/// Argon2 of any variant, without a pepper. ``PasswordHash`` reads Argon2id of version 19.
struct ForeignArgon2Hash: Sendable, Equatable {
    enum Variant: String, Sendable {
        case argon2d, argon2i, argon2id
    }

    var variant: Variant
    /// 16 or 19.
    var version: Int
    var parameters: Argon2Parameters
    var salt: [UInt8]
    var hash: [UInt8]

    init?(_ phc: PHCString) {
        guard let variant = Variant(rawValue: phc.algorithm), [nil, 16, 19].contains(phc.version),
            let numbers = phc.numbers("m", "t", "p"), (8...64).contains(phc.salt.count)
        else { return nil }
        parameters = Argon2Parameters(memory: numbers[0], iterations: numbers[1], parallelism: numbers[2])
        guard parameters.isAcceptable else { return nil }
        self.variant = variant
        // The first version wrote no version number.
        version = phc.version ?? 16
        salt = phc.salt
        hash = phc.hash
    }
}

/// PBKDF2 (RFC 8018 §5.2) with HMAC, as the PHC format, passlib, Django, Werkzeug and ASP.NET Core Identity write it.
struct PBKDF2Hash: Sendable, Equatable {
    enum Digest: String, Sendable {
        case sha1, sha256, sha512

        /// Bytes.
        var length: Int {
            switch self {
            case .sha1: 20
            case .sha256: 32
            case .sha512: 64
            }
        }
    }

    var digest: Digest
    var iterations: Int
    var salt: [UInt8]
    /// The first block at most. Each further block takes as much time again, and depends on the password in the same
    /// way. Keycloak derives four of SHA-1 with 1,300,000 iterations each.
    var hash: [UInt8]

    static let maximumIterations = 2_000_000

    init?(_ text: String) {
        if let phc = PHCString(text) {
            guard let numbers = phc.numbers("i", optional: ["l"]), phc.version == nil,
                phc.parameters["l"].map({ $0 == "\(phc.hash.count)" }) ?? true
            else { return nil }
            self.init(algorithm: phc.algorithm, iterations: numbers[0], salt: phc.salt, hash: phc.hash)
            return
        }
        let fields = text.split(separator: "$", omittingEmptySubsequences: false)
        if fields.count == 5, fields[0].isEmpty, let iterations = Int(fields[2]) {
            // passlib's base64 uses `.` instead of `+`.
            let parts = fields[3...].map { PHCString.base64($0.replacingOccurrences(of: ".", with: "+")) }
            guard let salt = parts[0], let hash = parts[1], !text.contains("+") else { return nil }
            self.init(algorithm: String(fields[1]), iterations: iterations, salt: salt, hash: hash)
        } else if fields.count == 4, fields[0].hasPrefix("pbkdf2_"), let iterations = Int(fields[1]),
            let hash = Data(base64Encoded: String(fields[3]))
        {
            // Django's salt is text.
            self.init(
                algorithm: "pbkdf2-\(fields[0].dropFirst(7))", iterations: iterations, salt: Array(fields[2].utf8),
                hash: Array(hash))
        } else {
            return nil
        }
    }

    private init?(algorithm: String, iterations: Int, salt: [UInt8], hash: [UInt8]) {
        let name = algorithm == "pbkdf2" ? "pbkdf2-sha1" : algorithm
        guard name.hasPrefix("pbkdf2-"), let digest = Digest(rawValue: String(name.dropFirst(7))) else { return nil }
        self.init(digest: digest, iterations: iterations, salt: salt, hash: hash)
    }

    private init?(digest: Digest, iterations: Int, salt: [UInt8], hash: [UInt8]) {
        guard ForeignHash.saltLengths.contains(salt.count), ForeignHash.hashLengths.contains(hash.count),
            (1...Self.maximumIterations).contains(iterations)
        else { return nil }
        self.digest = digest
        self.iterations = iterations
        self.salt = salt
        self.hash = Array(hash.prefix(digest.length))
    }
}

extension PBKDF2Hash {
    /// Werkzeug's `pbkdf2:sha256:600000$SALT$HASH`.
    fileprivate init?(werkzeug text: String) {
        guard let fields = WerkzeugHash(text), fields.method.count == 3, fields.method[0] == "pbkdf2",
            let digest = Digest(rawValue: String(fields.method[1])), let iterations = PHCString.number(fields.method[2])
        else { return nil }
        self.init(digest: digest, iterations: iterations, salt: fields.salt, hash: fields.hash)
    }

    /// Version 3 of ASP.NET Core Identity's `PasswordHasher`, in base64: a byte 1, then the digest, the iterations and
    /// the salt's length as numbers of 32 bits, big-endian; then the salt and the hash.
    fileprivate init?(aspNet text: String) {
        guard let data = Data(base64Encoded: text), data.count > 13, data.first == 1 else { return nil }
        let bytes = Array(data)
        func number(at place: Int) -> Int { bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
        let digests: [Digest] = [.sha1, .sha256, .sha512]
        let (digest, saltLength) = (number(at: 1), number(at: 9))
        guard digests.indices.contains(digest), saltLength <= bytes.count - 13 else { return nil }
        self.init(
            digest: digests[digest], iterations: number(at: 5), salt: Array(bytes[13..<13 + saltLength]),
            hash: Array(bytes[(13 + saltLength)...]))
    }
}

/// A hash of Werkzeug: `METHOD:PARAMETER:…$SALT$HASH`, with a salt that is text, and a hash in hexadecimal.
private struct WerkzeugHash {
    var method: [Substring]
    var salt: [UInt8]
    var hash: [UInt8]

    init?(_ text: String) {
        let fields = text.split(separator: "$", omittingEmptySubsequences: false)
        guard fields.count == 3, let hash = Hexadecimal.decode(String(fields[2])) else { return nil }
        method = fields[0].split(separator: ":", omittingEmptySubsequences: false)
        salt = Array(fields[1].utf8)
        self.hash = hash
    }
}

/// The cost of scrypt (RFC 7914 §2).
struct ScryptParameters: Sendable, Equatable {
    /// The binary logarithm of N.
    var logN: Int
    /// Block size.
    var r: Int
    /// Parallelization.
    var p: Int

    /// Bytes: 128 × N × r.
    static let maximumMemory = 128 << 20

    /// `nil` where it would take more than 128 MiB, or more than twice the time of that.
    init?(logN: Int, r: Int, p: Int) {
        guard (1...20).contains(logN), (1...32).contains(r), (1...16).contains(p) else { return nil }
        let memory = 128 * r << logN
        guard memory <= Self.maximumMemory, memory * p <= 2 * Self.maximumMemory else { return nil }
        self.logN = logN
        self.r = r
        self.p = p
    }
}

/// scrypt (RFC 7914): `$scrypt$ln=15,r=8,p=1$SALT$HASH`.
struct ScryptHash: Sendable, Equatable {
    var parameters: ScryptParameters
    var salt: [UInt8]
    var hash: [UInt8]

    init?(_ phc: PHCString) {
        guard phc.algorithm == "scrypt", phc.version == nil, let numbers = phc.numbers("ln", "r", "p"),
            let parameters = ScryptParameters(logN: numbers[0], r: numbers[1], p: numbers[2])
        else { return nil }
        self.parameters = parameters
        salt = phc.salt
        hash = phc.hash
    }
}

extension ScryptHash {
    /// Werkzeug's `scrypt:N:r:p$SALT$HASH`.
    fileprivate init?(werkzeug text: String) {
        guard let fields = WerkzeugHash(text), fields.method.count == 4, fields.method[0] == "scrypt",
            let n = PHCString.number(fields.method[1]), n > 0, n & (n - 1) == 0,
            let r = PHCString.number(fields.method[2]), let p = PHCString.number(fields.method[3]),
            let parameters = ScryptParameters(logN: n.trailingZeroBitCount, r: r, p: p),
            ForeignHash.saltLengths.contains(fields.salt.count), ForeignHash.hashLengths.contains(fields.hash.count)
        else { return nil }
        self.parameters = parameters
        salt = fields.salt
        hash = fields.hash
    }
}
