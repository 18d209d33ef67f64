import Foundation
import TestKit

/// `upstream.py`, running: an upstream in a process of its own, which a test can stop.
struct UpstreamProcess: Sendable {
    let port: Int
    private let process: TestProcess

    static func run(_ body: @Sendable (UpstreamProcess) async throws -> Void) async throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "upstream.py")
        let output = FileManager.default.temporaryDirectory.appending(path: "upstream-\(UUID())")
        defer { try? FileManager.default.removeItem(at: output) }
        let process = try TestProcess("python3", [script.path], output: output)
        do {
            // The whole line, since what has come so far may be a part of the number.
            try await eventually("the upstream says its port") { try text(of: output).hasSuffix("\n") }
            guard let port = try Int(text(of: output).dropLast().split(separator: ":").last ?? "") else {
                throw TestKitError("upstream.py says no port")
            }
            try await body(UpstreamProcess(port: port, process: process))
        } catch {
            await process.kill9()
            throw error
        }
        await process.kill9()
    }

    private static func text(of file: URL) throws -> String { try String(contentsOf: file, encoding: .utf8) }

    /// Sends its process a signal, such as `SIGSTOP`.
    func signal(_ number: Int32) { process.signal(number) }
}
