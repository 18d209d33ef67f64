public import Foundation
import Observability
public import ServiceKit

/// A service that runs within the test.
public struct RunningService: Sendable {
    /// Its public address, as `http://127.0.0.1:PORT`.
    public let url: URL
    /// Its admin address.
    public let adminURL: URL
    /// Begins a graceful stop; ``withService(_:settings:_:)`` waits for its end.
    public let stop: @Sendable () -> Void
}

/// Runs the real application on free ports while `body` runs, and stops it gracefully afterwards.
///
/// - Parameter settings: as in the environment. Development and free ports unless said otherwise, and more patient than a busy machine
///   is slow.
/// - Throws: what the settings, the application or `body` throw.
public func withService<Application: ServiceApplication, Result: Sendable>(
    _ application: Application.Type, settings: [String: String] = [:],
    _ body: @Sendable (RunningService) async throws -> Result
) async throws -> Result {
    let prefix = Application.name.uppercased().replacing("-", with: "_")
    let defaults = [
        "GATEHOUSE_ENVIRONMENT": "development",
        "GATEHOUSE_PATIENCE_MS": "60000",
        "\(prefix)_LISTEN_ADDRESS": "127.0.0.1:0",
        "\(prefix)_ADMIN_LISTEN_ADDRESS": "127.0.0.1:0",
        "\(prefix)_SHUTDOWN_GRACE": "10",
    ]
    let configuration = try ServiceConfiguration<Application>.load(
        environment: defaults.merging(settings) { $1 })
    _ = Telemetry.metrics
    let process = ServiceProcess(configuration, logger: .quiet)
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await process.run() }
        let service = try await address(of: process, in: &group)
        let result: Result
        do {
            result = try await body(service)
        } catch {
            process.stop()
            try? await group.waitForAll()
            throw error
        }
        process.stop()
        try await group.waitForAll()
        return result
    }
}

/// The addresses, or the error that kept the service from opening its ports.
private func address<Application: ServiceApplication>(
    of process: ServiceProcess<Application>, in group: inout ThrowingTaskGroup<Void, any Error>
) async throws -> RunningService {
    group.addTask {
        _ = try await process.listening.port()
        _ = try await process.adminListening.port()
    }
    // Whichever comes first: the ports are open, or the service ended.
    try await group.next()
    let ports = (try await process.listening.port(), try await process.adminListening.port())
    return RunningService(
        url: URL(string: "http://127.0.0.1:\(ports.0)")!, adminURL: URL(string: "http://127.0.0.1:\(ports.1)")!,
        stop: { process.stop() })
}
