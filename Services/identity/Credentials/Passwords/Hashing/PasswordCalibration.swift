import Foundation
import Synchronization

/// Measures hashes on this machine, so that an operator can choose their parameters (`identity passwords calibrate`).
package struct PasswordCalibration: Sendable {
    /// The valid range of `maximumMemory`, in KiB.
    package static let memoryRange = Argon2Parameters.memoryRange

    /// Concurrent hashes, as on the service's threads.
    private let threads: Int
    private let rule: Argon2Calibration

    /// The result of the measurement.
    package struct Outcome: Sendable {
        /// As environment variables of the service.
        package var settings: [(name: String, value: String)]
        /// How long a hash takes with these settings.
        package var duration: Duration
        /// How long a hash takes with the smallest parameters that are allowed.
        package var least: Duration
    }

    /// - Parameters:
    ///   - target: how long a hash should take.
    ///   - maximumMemory: KiB for each hash.
    ///   - threads: concurrent hashes, at least 1.
    package init(target: Duration, maximumMemory: Int, threads: Int) {
        self.threads = threads
        rule = Argon2Calibration(target: target, maximumMemory: maximumMemory)
    }

    /// Blocks the calling thread for some seconds.
    /// - Returns: `nil` where the machine has not enough memory.
    package func run() -> Outcome? {
        var parameters = Argon2Calibration.first
        guard let least = measure(parameters) else { return nil }
        var duration = least
        // The first estimate comes from a much smaller hash, and may be some percent off.
        for _ in 0..<3 {
            let next = rule.next(after: parameters, took: duration)
            if next == parameters { break }
            guard let measured = measure(next) else { return nil }
            (parameters, duration) = (next, measured)
        }
        let settings = [
            ("IDENTITY_HASHING_MEMORY", parameters.memory), ("IDENTITY_HASHING_ITERATIONS", parameters.iterations),
            ("IDENTITY_HASHING_PARALLELISM", parameters.parallelism),
        ]
        return Outcome(settings: settings.map { ($0, String($1)) }, duration: duration, least: least)
    }

    /// The median, with as many concurrent hashes as threads.
    private func measure(_ parameters: Argon2Parameters) -> Duration? {
        let times = Mutex<[Duration]>([])
        let salt = [UInt8](repeating: 0, count: PasswordHash.saltLength)
        DispatchQueue.concurrentPerform(iterations: threads) { _ in
            for round in 0..<6 {
                let started = ContinuousClock.now
                let hash = Argon2.hash(
                    Array("calibration".utf8), salt: salt, parameters: parameters, length: PasswordHash.hashLength)
                // The first round is not counted: its memory is fresh, so its hashes take longer.
                if round > 0, hash != nil { times.withLock { $0.append(.now - started) } }
            }
        }
        HashMemory.shared.trim(idleFor: .zero)
        let sorted = times.withLock { $0.sorted() }
        return sorted.count == 5 * threads ? sorted[sorted.count / 2] : nil
    }
}
