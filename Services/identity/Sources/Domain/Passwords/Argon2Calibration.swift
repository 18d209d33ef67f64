/// Finds parameters with which a hash takes about a given time. Memory comes first, because it costs an attacker with
/// many small processors the most; passes come when there may be no more memory (RFC 9106 §4).
struct Argon2Calibration: Sendable {
    /// How long a hash is to take.
    var target: Duration
    /// KiB that a hash may have; those that new hashes may not have are cut off.
    var maximumMemory: Int

    /// What is measured first.
    static let first = Argon2Parameters.floor

    /// What to try after parameters that were measured. A hash takes time in proportion to its memory and its passes.
    /// Of parameters that take the target's time the result is the same parameters again, or nearly so.
    ///
    /// - Parameter duration: how long a hash took; more than zero.
    func next(after parameters: Argon2Parameters, took duration: Duration) -> Argon2Parameters {
        let (memory, iterations) = (Argon2Parameters.memoryRange, Argon2Parameters.iterationsRange)
        let most = min(max(maximumMemory, memory.lowerBound), memory.upperBound)
        let work = Double(parameters.memory * parameters.iterations) * (target / duration)
        // As many passes as it takes for the memory not to be more than the most; one less where less memory than the
        // least would be left for each.
        let wanted = Int(min((work / Double(most)).rounded(.up), 1000))
        let affordable = Int(min(work / Double(memory.lowerBound), 1000))
        let passes = min(max(min(wanted, affordable), iterations.lowerBound), iterations.upperBound)
        let mebibytes = Int(min(work / Double(passes), Double(most))) / 1024
        return Argon2Parameters(
            memory: min(max(mebibytes * 1024, memory.lowerBound), most), iterations: passes,
            parallelism: parameters.parallelism)
    }
}
