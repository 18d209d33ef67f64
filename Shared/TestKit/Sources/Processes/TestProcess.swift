public import Foundation

/// A program that a test has started, and may stop, continue and kill.
public final class TestProcess: Sendable {
    private let process: Process
    private let exit: AsyncStream<Void>

    /// Starts `executable` (a path, or a name to look up in `PATH`). What it prints goes to `output`, a file that is
    /// made; by default nowhere.
    public init(
        _ executable: String, _ arguments: [String], environment: [String: String]? = nil,
        currentDirectory: URL? = nil, output: URL? = nil
    ) throws {
        let process = Process()
        process.executableURL = try Self.locate(executable)
        process.arguments = arguments
        if let environment { process.environment = environment }
        if let currentDirectory { process.currentDirectoryURL = currentDirectory }
        process.standardInput = FileHandle.nullDevice
        let sink = try output.map { url in
            _ = FileManager.default.createFile(atPath: url.path, contents: nil)
            return try FileHandle(forWritingTo: url)
        }
        process.standardOutput = sink ?? FileHandle.nullDevice
        process.standardError = sink ?? FileHandle.nullDevice
        let (exit, ended) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in ended.finish() }
        self.process = process
        self.exit = exit
        try process.run()
    }

    public var processID: Int32 { process.processIdentifier }

    public var isRunning: Bool { process.isRunning }

    /// Sends a signal: `SIGSTOP`, `SIGCONT`, `SIGTERM`, `SIGKILL` …
    public func signal(_ number: Int32) {
        guard process.isRunning else { return }
        kill(process.processIdentifier, number)
    }

    /// Waits until the process has ended, and returns its exit status, or the signal that ended it.
    @discardableResult
    public func waitForExit() async -> Int32 {
        for await _ in exit {}
        return process.terminationStatus
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
