import Synchronization

/// What one line of the table says.
struct Measurement: Sendable {
    var name: String
    var operations: Int
    var elapsed: Duration
    /// CPU time of each process while the operations ran.
    var cpu: [(process: String, time: Duration)]

    var perSecond: Double { Double(operations) / elapsed.seconds }

    /// CPU time of one operation, in microseconds.
    func microseconds(_ time: Duration) -> Double { time.seconds * 1_000_000 / Double(max(operations, 1)) }

    var microsecondsInAll: Double { cpu.reduce(0) { $0 + microseconds($1.time) } }

    /// The same work measured again.
    static func += (sum: inout Measurement, again: Measurement) {
        sum.operations += again.operations
        sum.elapsed += again.elapsed
        sum.cpu = zip(sum.cpu, again.cpu).map { ($0.process, $0.time + $1.time) }
    }
}

extension Duration {
    var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}

/// How long each line is measured, after a second to warm up.
struct Schedule: Sendable {
    var warmUp: Duration = .seconds(1)
    var measured: Duration = .seconds(5)

    /// For programs that take nothing shorter.
    var wholeSeconds: Int { max(1, Int(measured.seconds)) }
}

/// Repeats an operation in as many tasks as there are workers, each with a state of its own, and reads the clocks over
/// the middle of it: all workers are busy when the measurement starts and when it ends.
func measure<Worker: Sendable>(
    _ name: String, workers: [Worker], watching processes: [WatchedProcess], schedule: Schedule,
    operation: @escaping @Sendable (inout Worker) async throws -> Void
) async throws -> Measurement {
    let progress = Progress()
    return try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in workers {
            group.addTask {
                var worker = worker
                while progress.continues {
                    try await operation(&worker)
                    progress.count()
                }
            }
        }
        group.addTask { try await Task.sleep(for: schedule.warmUp) }
        try await group.next()  // The sleeper, or a worker that failed.
        let started = ContinuousClock.now
        let operations = progress.operations
        let before = try processes.map { try $0.cpuTime() }
        group.addTask { try await Task.sleep(for: schedule.measured) }
        try await group.next()
        let after = try processes.map { try $0.cpuTime() }
        try PrivateMemory.current?.look()
        let measurement = Measurement(
            name: name, operations: progress.operations - operations, elapsed: .now - started,
            cpu: zip(processes, zip(before, after)).map { ($0.name, $1.1 - $1.0) })
        progress.stop()
        try await group.waitForAll()
        return measurement
    }
}

private final class Progress: Sendable {
    private let finished = Atomic<Int>(0)
    private let stopped = Atomic<Bool>(false)

    var operations: Int { finished.load(ordering: .relaxed) }
    var continues: Bool { !stopped.load(ordering: .relaxed) }

    func count() { finished.add(1, ordering: .relaxed) }
    func stop() { stopped.store(true, ordering: .relaxed) }
}
