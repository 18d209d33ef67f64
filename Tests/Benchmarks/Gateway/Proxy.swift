import Foundation

/// A proxy under measurement: a process of its own, on the core that is set aside for it.
struct Proxy: Sendable {
    let name: String
    let port: Int
    let process: WatchedProcess
    private let handle: Process

    /// Starts a program and waits until a request with `bearer` gets through it.
    ///
    /// - Parameters:
    ///   - command: the program's path and arguments.
    ///   - environment: the whole of it.
    ///   - log: a file for what it prints.
    static func start(
        _ name: String, port: Int, core: Int, command: [String], environment: [String: String] = [:], log: URL,
        bearer: String
    ) async throws -> Proxy {
        try Data().write(to: log)
        let output = try FileHandle(forWritingTo: log)
        let handle = Process()
        handle.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        // Each of these becomes the next: the id stays the proxy's own.
        handle.arguments = ["taskset", "-c", "\(core)"] + command
        handle.environment = environment.merging(["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""]) { $1 }
        handle.standardOutput = output
        handle.standardError = output
        try handle.run()
        let proxy = Proxy(
            name: name, port: port, process: WatchedProcess(name: name, id: handle.processIdentifier), handle: handle)
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            do {
                try await OneRequest.succeeds(port: port, bearer: bearer)
                return proxy
            } catch {
                guard handle.isRunning, ContinuousClock.now < deadline else {
                    proxy.stop()
                    throw BenchmarkError("\(name) does not answer (\(error)); it said: \(Self.end(of: log))")
                }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// By force: what a process of Swift starts inherits that it hears no other signal.
    func stop() {
        kill(process.id, SIGKILL)
        handle.waitUntilExit()
    }

    private static func end(of log: URL) -> String {
        String(((try? String(contentsOf: log, encoding: .utf8)) ?? "").suffix(600))
    }
}
