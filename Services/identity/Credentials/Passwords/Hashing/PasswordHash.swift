// Pure: no I/O, no clock.

import Foundation

/// A stored password hash, in the PHC string format:
/// `$argon2id$v=19$m=19456,t=2,p=1,keyid=BASE64$SALT$HASH`, where `keyid` names the pepper key.
struct PasswordHash: Sendable, Equatable {
    var parameters: Argon2Parameters
    /// The pepper that the password was keyed with; `nil` in a hash from another program.
    var pepperID: String?
    var salt: [UInt8]
    var hash: [UInt8]

    static let saltLength = 16
    static let hashLength = 32

    init(parameters: Argon2Parameters, pepperID: String?, salt: [UInt8], hash: [UInt8]) {
        self.parameters = parameters
        self.pepperID = pepperID
        self.salt = salt
        self.hash = hash
    }

    /// `nil` when the text is not an Argon2id hash of version 19, or needs more work than is acceptable.
    init?(_ text: String) {
        guard let phc = PHCString(text), phc.algorithm == "argon2id", phc.version == 19,
            (8...64).contains(phc.salt.count), (16...64).contains(phc.hash.count),
            let numbers = phc.numbers("m", "t", "p", optional: ["keyid"])
        else { return nil }
        let parameters = Argon2Parameters(memory: numbers[0], iterations: numbers[1], parallelism: numbers[2])
        guard parameters.isAcceptable else { return nil }
        if let keyID = phc.parameters["keyid"] {
            guard let bytes = PHCString.base64(keyID), let name = String(validating: bytes, as: UTF8.self) else {
                return nil
            }
            pepperID = name
        }
        self.parameters = parameters
        salt = phc.salt
        hash = phc.hash
    }

    var phcString: String {
        let keyID = pepperID.map { ",keyid=" + PHCString.base64(Array($0.utf8)) } ?? ""
        let work = "m=\(parameters.memory),t=\(parameters.iterations),p=\(parameters.parallelism)"
        return "$argon2id$v=19$\(work)\(keyID)$\(PHCString.base64(salt))$\(PHCString.base64(hash))"
    }
}

/// A hash in the PHC string format: `$ALGORITHM$v=VERSION$NAME=VALUE,…$SALT$HASH`. The version is optional.
struct PHCString: Sendable, Equatable {
    var algorithm: String
    var version: Int?
    var parameters: [String: String]
    var salt: [UInt8]
    var hash: [UInt8]

    /// `nil` when the text has another format, or is not in its canonical form.
    /// - Parameter isPadded: whether the base64 of salt and hash may have padding.
    init?(_ text: String, isPadded: Bool = false) {
        var fields = text.split(separator: "$", omittingEmptySubsequences: false)[...]
        guard fields.popFirst()?.isEmpty == true, let algorithm = fields.popFirst(), !algorithm.isEmpty else {
            return nil
        }
        if let field = fields.first, field.hasPrefix("v="), !field.contains(",") {
            guard let version = Int(field.dropFirst(2)) else { return nil }
            self.version = version
            fields.removeFirst()
        }
        guard fields.count == 3, let salt = Self.base64(fields[fields.startIndex + 1], isPadded: isPadded),
            let hash = Self.base64(fields[fields.startIndex + 2], isPadded: isPadded)
        else { return nil }
        parameters = [:]
        for pair in fields[fields.startIndex].split(separator: ",", omittingEmptySubsequences: false) {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parameters.updateValue(String(parts[1]), forKey: String(parts[0])) == nil else {
                return nil
            }
        }
        self.algorithm = String(algorithm)
        self.salt = salt
        self.hash = hash
    }

    /// The values of these parameters, if all of them are present and no others besides `optional`.
    func numbers(_ names: String..., optional: Set<String> = []) -> [Int]? {
        guard Set(parameters.keys).subtracting(optional) == Set(names) else { return nil }
        let numbers = names.compactMap { parameters[$0].flatMap { Int($0) } }
        return numbers.count == names.count ? numbers : nil
    }

    /// The PHC format writes base64 without padding.
    static func base64(_ bytes: [UInt8]) -> String {
        String(Data(bytes).base64EncodedString().prefix { $0 != "=" })
    }

    /// - Parameter isPadded: whether padding is accepted too.
    static func base64(_ text: some StringProtocol, isPadded: Bool = false) -> [UInt8]? {
        let digits = isPadded ? String(text.prefix { $0 != "=" }) : String(text)
        let padded = digits + String(repeating: "=", count: (4 - digits.count % 4) % 4)
        guard text == digits || text == padded, let data = Data(base64Encoded: padded) else { return nil }
        let bytes = Array(data)
        return base64(bytes) == digits ? bytes : nil
    }

    /// Digits alone, without a sign.
    static func number(_ text: some StringProtocol) -> Int? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }
}

/// The cost of one hash.
struct Argon2Parameters: Sendable, Equatable {
    /// KiB.
    var memory: Int
    /// Passes.
    var iterations: Int
    /// Lanes.
    var parallelism: Int

    /// OWASP's minimum for Argon2id. New hashes never have less.
    static let floor = Argon2Parameters(memory: 19_456, iterations: 2, parallelism: 1)

    /// The memory that a new hash may have.
    static let memoryRange = floor.memory...131_072
    static let iterationsRange = floor.iterations...10
    static let parallelismRange = floor.parallelism...4

    /// Whether a stored hash may have these parameters. The database must not decide how much work this process does.
    var isAcceptable: Bool {
        (1...Self.parallelismRange.upperBound).contains(parallelism)
            && (8 * parallelism...Self.memoryRange.upperBound).contains(memory)
            && (1...Self.iterationsRange.upperBound).contains(iterations)
    }
}

/// Finds parameters with which a hash takes about a given time. It raises the memory first, because memory costs an
/// attacker with many small processors the most. It raises the passes when the memory is at its maximum (RFC 9106 §4).
struct Argon2Calibration: Sendable {
    /// How long a hash should take.
    var target: Duration
    /// The most KiB for a hash, clamped to what new hashes may have.
    var maximumMemory: Int

    /// The parameters that are measured first.
    static let first = Argon2Parameters.floor

    /// The next parameters to try after a measurement. A hash takes time in proportion to its memory and its passes.
    /// For parameters that take the target's time, the result is the same parameters, or nearly so.
    ///
    /// - Parameter duration: how long a hash took; more than zero.
    func next(after parameters: Argon2Parameters, took duration: Duration) -> Argon2Parameters {
        let (memory, iterations) = (Argon2Parameters.memoryRange, Argon2Parameters.iterationsRange)
        let most = min(max(maximumMemory, memory.lowerBound), memory.upperBound)
        let work = Double(parameters.memory * parameters.iterations) * (target / duration)
        // Enough passes to keep the memory within its maximum. One pass less where each pass would get less memory than
        // the minimum.
        let wanted = Int(min((work / Double(most)).rounded(.up), 1000))
        let affordable = Int(min(work / Double(memory.lowerBound), 1000))
        let passes = min(max(min(wanted, affordable), iterations.lowerBound), iterations.upperBound)
        let mebibytes = Int(min(work / Double(passes), Double(most))) / 1024
        return Argon2Parameters(
            memory: min(max(mebibytes * 1024, memory.lowerBound), most), iterations: passes,
            parallelism: parameters.parallelism)
    }
}
