import Foundation

/// A password hash from another system, in the text in which it is stored until its user signs in:
///
/// | | |
/// |---|---|
/// | Argon2 | `$argon2i$v=19$m=65536,t=3,p=4$SALT$HASH`, also `argon2d`, `argon2id`, `v=16` or none |
/// | bcrypt | `$2b$12$…`, also `$2a$` and `$2y$` |
/// | scrypt | `$scrypt$ln=15,r=8,p=1$SALT$HASH` |
/// | PBKDF2 | `$pbkdf2-sha256$i=600000$SALT$HASH`, passlib's `$pbkdf2-sha256$600000$…`, Django's `pbkdf2_sha256$600000$…` |
/// | Firebase | `$firebase-scrypt$ln=14,r=8,sep=SEPARATOR$SALT$HASH` |
///
/// SALT, HASH and SEPARATOR are base64 without padding. Hashes that take too much work are refused: the author of an
/// import file must not decide how long a sign-in takes.
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
        } else if let hash = PBKDF2Hash(text) {
            self = .pbkdf2(hash)
        } else if let phc = PHCString(text), Self.saltLengths.contains(phc.salt.count),
            Self.hashLengths.contains(phc.hash.count)
        {
            if let hash = ForeignArgon2Hash(phc) {
                self = .argon2(hash)
            } else if let hash = ScryptHash(phc) {
                self = .scrypt(hash)
            } else if let hash = FirebaseHash(phc) {
                self = .firebase(hash)
            } else {
                return nil
            }
        } else {
            return nil
        }
    }
}

/// bcrypt (Provos, Mazières 1999): `$2b$12$` and 53 characters of salt and hash. It uses only the first 72 bytes of a
/// password.
struct BcryptHash: Sendable, Equatable {
    /// The binary logarithm of the number of rounds. 14 takes about a second.
    static let costs = 4...14

    let text: String

    init?(_ text: String) {
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
/// from the password. The hash is the project's signer key, encrypted with it. The signer key is in a file, not in the
/// hash.
struct FirebaseHash: Sendable, Equatable {
    var parameters: ScryptParameters
    var salt: [UInt8]
    /// Appended to the salt.
    var separator: [UInt8]
    /// As long as the signer key.
    var hash: [UInt8]

    init?(_ phc: PHCString) {
        guard phc.algorithm == "firebase-scrypt", phc.version == nil,
            let numbers = phc.numbers("ln", "r", optional: ["sep"]),
            let parameters = ScryptParameters(logN: numbers[0], r: numbers[1], p: 1),
            let separator = PHCString.base64(phc.parameters["sep"] ?? ""), separator.count <= 64
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

/// PBKDF2 (RFC 8018 §5.2) with HMAC, as the PHC format, passlib and Django write it.
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
    var hash: [UInt8]

    /// Iterations. Each is repeated for every digest-sized block of the hash.
    static let maximumWork = 2_000_000

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
        guard name.hasPrefix("pbkdf2-"), let digest = Digest(rawValue: String(name.dropFirst(7))),
            ForeignHash.saltLengths.contains(salt.count), ForeignHash.hashLengths.contains(hash.count)
        else { return nil }
        let blocks = (hash.count + digest.length - 1) / digest.length
        guard iterations >= 1, iterations <= Self.maximumWork / blocks else { return nil }
        self.digest = digest
        self.iterations = iterations
        self.salt = salt
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
