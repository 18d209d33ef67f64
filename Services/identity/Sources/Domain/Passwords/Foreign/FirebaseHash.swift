/// Firebase's variant of scrypt: `$firebase-scrypt$ln=MEM_COST,r=ROUNDS,sep=SEPARATOR$SALT$HASH`. The project's signer
/// key is encrypted under what scrypt makes of the password; that is the hash. The key stands in a file and not here.
struct FirebaseHash: Sendable, Equatable {
    var parameters: ScryptParameters
    var salt: [UInt8]
    /// Follows the salt.
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
