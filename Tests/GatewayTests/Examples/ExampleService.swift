import Foundation

/// `deploy/examples/orders`, running.
struct ExampleService: Sendable {
    let port: Int
    private let processID: Int32

    static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("deploy/examples/orders")

    struct DidNotStart: Error {}

    static func withService(_ body: @Sendable (ExampleService) async throws -> Void) async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", folder.appendingPathComponent("orders.py").path, "0"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // It serves until it is killed, and hears nothing else: a child of Swift's threads inherits their signal mask.
        defer { kill(process.processIdentifier, SIGKILL) }
        guard let port = try await firstLine(of: output.fileHandleForReading).split(separator: ":").last,
            let number = Int(port)
        else { throw DidNotStart() }
        try await body(ExampleService(port: number, processID: process.processIdentifier))
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

    /// The routes of its file, as they stand there but for the port.
    func routesFile() throws -> String {
        try String(contentsOf: Self.folder.appendingPathComponent("routes.yaml"), encoding: .utf8)
            .replacingOccurrences(of: "127.0.0.1:9000", with: "127.0.0.1:\(port)")
    }
}
