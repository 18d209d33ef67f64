/// Argon2 of any variant, without a pepper. Argon2id of version 19 is read by ``PasswordHash``.
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
        // The first version wrote none.
        version = phc.version ?? 16
        salt = phc.salt
        hash = phc.hash
    }
}
