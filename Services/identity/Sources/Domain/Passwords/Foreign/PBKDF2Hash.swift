import Foundation

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

    /// Iterations, each of which is done once for as many bytes of the hash as the digest has.
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
            // passlib's base64 has `.` for `+`.
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
