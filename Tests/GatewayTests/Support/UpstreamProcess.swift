import Foundation

/// `upstream.py`, running: an upstream in a process of its own, which a test can stop.
struct UpstreamProcess: Sendable {
    let port: Int
    private let processID: Int32

    struct DidNotStart: Error {}

    static func run(_ body: @Sendable (UpstreamProcess) async throws -> Void) async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("upstream.py")
        process.arguments = ["python3", script.path]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // It serves until it is killed, and hears nothing else: a child of Swift's threads inherits their signal mask.
        defer { kill(process.processIdentifier, SIGKILL) }
        guard let port = try await firstLine(of: output.fileHandleForReading).split(separator: ":").last,
            let number = Int(port)
        else { throw DidNotStart() }
        try await body(UpstreamProcess(port: number, processID: process.processIdentifier))
    }

    /// Sends its process a signal, such as `SIGSTOP`.
    func signal(_ number: Int32) { kill(processID, number) }

    private static func firstLine(of handle: FileHandle) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            // A thread of its own: nothing of Swift's may block.
            Thread.detachNewThread {
                let text = String(decoding: handle.availableData, as: UTF8.self)
                continuation.resume(returning: text.trimmingCharacters(in: .newlines))
            }
        }
    }
}
