import Foundation
import Synchronization
import TestKit

/// One of the system's programs, as a process that a test kills, stops and starts again on the same ports.
final class ServiceProcess: Sendable {
    let name: String
    /// The binary's name.
    let program: String
    let url: URL
    let adminURL: URL
    private let executable: String
    private let environment: [String: String]
    private let openFiles: Int?
    private let log: URL
    private let running = Mutex<TestProcess?>(nil)

    /// - Parameter openFiles: how many the system allows the process; `nil`: as many as this one.
    init(
        name: String, program: String, port: Int, adminPort: Int, environment: [String: String], folder: URL,
        openFiles: Int? = nil
    ) {
        self.name = name
        self.program = program
        self.url = URL(string: "http://127.0.0.1:\(port)")!
        self.adminURL = URL(string: "http://127.0.0.1:\(adminPort)")!
        self.executable = BuiltPrograms.path(of: program)
        let prefix = program.uppercased().replacing("-", with: "_")
        self.environment = environment.merging([
            "\(prefix)_LISTEN_ADDRESS": "127.0.0.1:\(port)", "\(prefix)_ADMIN_LISTEN_ADDRESS": "127.0.0.1:\(adminPort)",
        ]) { _, own in own }
        self.openFiles = openFiles
        self.log = folder.appending(path: "\(name).log")
    }

    /// Starts the program.
    @discardableResult
    func launch() throws -> TestProcess {
        let child =
            if let openFiles {
                try TestProcess(
                    "sh", ["-c", #"ulimit -n "$0" && exec "$@""#, "\(openFiles)", executable, "serve"],
                    environment: environment, output: log)
            } else {
                try TestProcess(executable, ["serve"], environment: environment, output: log)
            }
        running.withLock { $0 = child }
        return child
    }

    /// Starts the program and returns when it says that it is ready.
    func start() async throws {
        let child = try launch()
        let admin = TestHTTPClient(adminURL)
        let end = ContinuousClock.now + .seconds(120)
        while ContinuousClock.now < end {
            if let answer = try? await admin.call("GET", "/readyz", body: nil), answer.status == 200 { return }
            guard child.isRunning else { throw TestKitError("\(name) ended at once:\n\(logText)") }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw TestKitError("\(name) is not ready:\n\(logText)")
    }

    /// Runs the program to its end with other arguments, and returns what it printed.
    @discardableResult
    func run(_ arguments: [String]) async throws -> String {
        let output = log.deletingLastPathComponent().appending(path: "\(name)-\(UUID().uuidString).log")
        let status = try await TestProcess(
            executable, arguments, environment: environment, output: output
        ).waitForExit()
        let text = try String(contentsOf: output, encoding: .utf8)
        guard status == 0 else { throw TestKitError("\(name) \(arguments) ended with \(status):\n\(text)") }
        return text
    }

    /// What a metric without labels says.
    func metric(_ name: String) async throws -> Double? {
        let answer = try await TestHTTPClient(adminURL).get("/metrics")
        let line = answer.text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.dropFirst(name.count + 1)) }
    }

    var isRunning: Bool { running.withLock { $0 }?.isRunning ?? false }

    /// What the process has worked since it started.
    var cpuTime: Duration? { running.withLock { $0 }?.cpuTime }

    func kill() async { await running.withLock { $0 }?.kill9() }
    func suspend() async { await running.withLock { $0 }?.suspend() }
    func resume() { running.withLock { $0?.signal(SIGCONT) } }

    /// Asks the program to end, and waits until it has.
    func stop() async {
        guard let child = running.withLock({ $0 }) else { return }
        child.signal(SIGTERM)
        await child.waitForExit()
    }

    var logText: String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }
}
