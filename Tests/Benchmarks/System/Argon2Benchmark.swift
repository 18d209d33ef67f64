import CArgon2
import Foundation

extension SystemBenchmarks {
    /// The hash that a password login cannot do without, at the parameters that identity uses.
    static func argon2Alone(_ schedule: Schedule) throws -> Measurement {
        let password = Array("correct horse battery staple".utf8)
        let salt = [UInt8](repeating: 7, count: 16)
        var hash = [UInt8](repeating: 0, count: 32)
        let started = ContinuousClock.now
        let before = CPUTime.now
        var operations = 0
        while ContinuousClock.now - started < schedule.measured {
            let status = argon2id_hash_raw(2, 19456, 1, password, password.count, salt, salt.count, &hash, hash.count)
            guard status == ARGON2_OK.rawValue else { throw BenchmarkError("Argon2 answered \(status)") }
            operations += 1
        }
        return Measurement(
            name: "Argon2id alone (m=19456 t=2 p=1)", operations: operations, elapsed: .now - started,
            cpu: [("bench", CPUTime.now - before)])
    }
}
