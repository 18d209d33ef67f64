/// How much work one hash is.
struct Argon2Parameters: Sendable, Equatable {
    /// KiB.
    var memory: Int
    /// Passes.
    var iterations: Int
    /// Lanes.
    var parallelism: Int

    /// OWASP's floor for Argon2id.
    static let current = Argon2Parameters(memory: 19_456, iterations: 2, parallelism: 1)

    /// Whether a stored hash may have these parameters. The database must not decide how much this process works.
    var isAcceptable: Bool {
        (1...4).contains(parallelism) && (8 * parallelism...131_072).contains(memory) && (1...10).contains(iterations)
    }
}
