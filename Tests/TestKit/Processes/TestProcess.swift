public import Foundation

/// A program that a test has started, and may suspend, continue and kill.
public final class TestProcess: Sendable {
    private static let coverage = "LLVM_PROFILE_FILE"

    private let process: Process

    /// Starts `executable`: a path, or a name to look up in `PATH`. Its output goes to `output`, a file that is
    /// created; by default it is discarded. In addition to `environment` it receives the variables that a coverage run
    /// needs.
    public init(
        _ executable: String, _ arguments: [String], environment: [String: String]? = nil,
        currentDirectory: URL? = nil, output: URL? = nil
    ) throws {
        let process = Process()
        process.executableURL = try Self.locate(executable)
        process.arguments = arguments
        if var environment {
            environment[Self.coverage] = ProcessInfo.processInfo.environment[Self.coverage]
            process.environment = environment
        }
        if let currentDirectory { process.currentDirectoryURL = currentDirectory }
        process.standardInput = FileHandle.nullDevice
        let sink = try output.map { url in
            _ = FileManager.default.createFile(atPath: url.path, contents: nil)
            return try FileHandle(forWritingTo: url)
        }
        process.standardOutput = sink ?? FileHandle.nullDevice
        process.standardError = sink ?? FileHandle.nullDevice
        self.process = process
        try process.run()
    }

    public var processID: Int32 { process.processIdentifier }

    public var isRunning: Bool { exitStatus == nil }

    /// Sends a signal: `SIGSTOP`, `SIGCONT`, `SIGTERM`, `SIGKILL` …
    public func signal(_ number: Int32) {
        guard isRunning else { return }
        kill(process.processIdentifier, number)
    }

    /// Sends `SIGSTOP`, which holds until `SIGCONT`. Returns when the process has stopped: on a busy machine it may run
    /// for a moment after the signal.
    public func suspend() async {
        signal(SIGSTOP)
        while isRunning, change(WSTOPPED) == nil { await Self.pause() }
    }

    /// Waits until the process has ended. Returns its exit status, or the signal that ended it.
    @discardableResult
    public func waitForExit() async -> Int32 {
        while true {
            if let exitStatus { return exitStatus }
            await Self.pause()
        }
    }

    /// Also sleeps in a cancelled task.
    private static func pause() async {
        await Task { try? await Task.sleep(for: .milliseconds(2)) }.value
    }

    /// `nil` while the process runs. Foundation detects the end through a socket, which a process that was started at
    /// the same moment may have inherited. While such a process lives, Foundation does not notice the end, so the
    /// kernel is queried first.
    private var exitStatus: Int32? {
        if let change = change(WEXITED) { return change.status }
        // Foundation has noticed the end and reaped the process, so the kernel no longer knows it.
        return process.isRunning ? nil : process.terminationStatus
    }

    /// The process' state change, if there was one. The change stays available to other callers.
    private func change(_ options: Int32) -> siginfo_t? {
        var info = siginfo_t()
        guard waitid(P_PID, id_t(processID), &info, options | WNOHANG | WNOWAIT) == 0, info.si_signo == SIGCHLD
        else { return nil }
        return info
    }

    /// Kills the process at once and waits until it is gone.
    public func kill9() async {
        signal(SIGKILL)
        await waitForExit()
    }

    private static func locate(_ executable: String) throws -> URL {
        if executable.contains("/") { return URL(filePath: executable) }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        for folder in path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/bin"] {
            let url = URL(filePath: folder).appending(path: executable)
            if FileManager.default.isExecutableFile(atPath: url.path) { return url }
        }
        throw TestKitError("There is no program \(executable). `make test` installs what the tests need.")
    }
}

extension siginfo_t {
    /// The exit status, or the signal that ended or stopped the process.
    fileprivate var status: Int32 {
        #if canImport(Darwin)
            si_status
        #else
            _sifields._sigchld.si_status
        #endif
    }
}
