/// How much work scrypt does (RFC 7914 §2).
struct ScryptParameters: Sendable, Equatable {
    /// The logarithm of N.
    var logN: Int
    /// Block size.
    var r: Int
    /// Parallelization.
    var p: Int

    /// Bytes: 128 × N × r.
    static let maximumMemory = 128 << 20

    /// `nil` where it would be more than 128 MiB, or more than twice the time of that.
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
