import Foundation

/// A program of the machine that does the same work, to compare with: `pgbench`, `redis-benchmark`, `openssl speed`.
struct Tool {
    /// What it printed.
    var output: String
    var elapsed: Duration
    /// CPU time of it and of its own children.
    var cpu: Duration

    /// Whether a shell would find the program.
    static func isInstalled(_ name: String) -> Bool {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }

    /// Runs a program to its end.
    ///
    /// - Parameter arguments: the program's name, looked for as a shell does, and its arguments.
    static func run(_ arguments: String...) async throws -> Tool { try await run(arguments) }

    static func run(_ arguments: [String]) async throws -> Tool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let before = cpuTimeOfEndedChildren()
        let started = ContinuousClock.now
        try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in ended.resume() }
            do {
                try runHearingAlarms(process)
            } catch {
                ended.resume(throwing: error)
            }
        }
        guard process.terminationStatus == 0 else {
            throw BenchmarkError("\(arguments[0]) ended with \(process.terminationStatus)")
        }
        // What these programs print fits into the pipe.
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        return Tool(output: text, elapsed: .now - started, cpu: cpuTimeOfEndedChildren() - before)
    }

    /// A child inherits the signal mask of the thread that starts it, and Swift's threads block all signals: programs
    /// that end by an alarm would run for ever.
    private static func runHearingAlarms(_ process: Process) throws {
        var alarm = sigset_t()
        var blocked = sigset_t()
        sigemptyset(&alarm)
        sigaddset(&alarm, SIGALRM)
        pthread_sigmask(SIG_UNBLOCK, &alarm, &blocked)
        defer { pthread_sigmask(SIG_SETMASK, &blocked, nil) }
        try process.run()
    }

    private static func cpuTimeOfEndedChildren() -> Duration {
        var spent = tms()
        times(&spent)
        return .seconds(1) * (spent.tms_cutime + spent.tms_cstime) / sysconf(Int32(_SC_CLK_TCK))
    }
}
