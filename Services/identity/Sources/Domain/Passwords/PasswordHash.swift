import Foundation

/// A stored password hash, in the PHC string format:
/// `$argon2id$v=19$m=19456,t=2,p=1,keyid=BASE64$SALT$HASH`, where `keyid` names the pepper key.
struct PasswordHash: Sendable, Equatable {
    var parameters: Argon2Parameters
    /// The pepper that the password was keyed with; `nil` in a hash that another program made.
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

    /// `nil` when the text is no Argon2id hash of version 19, or asks for more work than is acceptable.
    init?(_ text: String) {
        let fields = text.split(separator: "$", omittingEmptySubsequences: false)
        guard fields.count == 6, fields[0].isEmpty, fields[1] == "argon2id", fields[2] == "v=19",
            let salt = Self.base64(fields[4]), (8...64).contains(salt.count),
            let hash = Self.base64(fields[5]), (16...64).contains(hash.count)
        else { return nil }
        var values: [Substring: Substring] = [:]
        for pair in fields[3].split(separator: ",", omittingEmptySubsequences: false) {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, values.updateValue(parts[1], forKey: parts[0]) == nil else { return nil }
        }
        guard let memory = values["m"].flatMap({ Int($0) }), let iterations = values["t"].flatMap({ Int($0) }),
            let parallelism = values["p"].flatMap({ Int($0) }), Set(values.keys).isSubset(of: ["m", "t", "p", "keyid"])
        else { return nil }
        let parameters = Argon2Parameters(memory: memory, iterations: iterations, parallelism: parallelism)
        guard parameters.isAcceptable else { return nil }
        if let keyID = values["keyid"] {
            guard let bytes = Self.base64(keyID), let name = String(validating: bytes, as: UTF8.self) else {
                return nil
            }
            pepperID = name
        }
        self.parameters = parameters
        self.salt = salt
        self.hash = hash
    }

    var phcString: String {
        let keyID = pepperID.map { ",keyid=" + Self.base64(Array($0.utf8)) } ?? ""
        let work = "m=\(parameters.memory),t=\(parameters.iterations),p=\(parameters.parallelism)"
        return "$argon2id$v=19$\(work)\(keyID)$\(Self.base64(salt))$\(Self.base64(hash))"
    }

    /// The PHC format writes base64 without padding.
    private static func base64(_ bytes: [UInt8]) -> String {
        String(Data(bytes).base64EncodedString().prefix { $0 != "=" })
    }

    private static func base64(_ text: Substring) -> [UInt8]? {
        let padded = text + String(repeating: "=", count: (4 - text.count % 4) % 4)
        guard let data = Data(base64Encoded: String(padded)) else { return nil }
        let bytes = Array(data)
        return base64(bytes) == text ? bytes : nil
    }
}
