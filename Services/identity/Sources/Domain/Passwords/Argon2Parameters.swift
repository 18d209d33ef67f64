/// How much work one hash is.
struct Argon2Parameters: Sendable, Equatable {
    /// KiB.
    var memory: Int
    /// Passes.
    var iterations: Int
    /// Lanes.
    var parallelism: Int

    /// OWASP's least for Argon2id. New hashes never have less.
    static let floor = Argon2Parameters(memory: 19_456, iterations: 2, parallelism: 1)

    /// What a new hash may have.
    static let memoryRange = floor.memory...131_072
    static let iterationsRange = floor.iterations...10
    static let parallelismRange = floor.parallelism...4

    /// Whether a stored hash may have these parameters. The database must not decide how much this process works.
    var isAcceptable: Bool {
        (1...Self.parallelismRange.upperBound).contains(parallelism)
            && (8 * parallelism...Self.memoryRange.upperBound).contains(memory)
            && (1...Self.iterationsRange.upperBound).contains(iterations)
    }
}
