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
