public import Foundation
import GatehouseObservability
public import GatehouseServiceKit
public import Logging
import Tracing

/// A service that runs in the test's process.
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
/// - Parameter settings: as environment variables. The defaults are development, free ports, and timeouts that a busy
///   machine does not reach.
/// - Throws: the errors of the settings, the application or `body`.
public func withService<Application: ServiceApplication, Result: Sendable>(
    _ application: Application.Type, settings: [String: String] = [:], logger: Logger = .quiet,
    _ body: @Sendable (RunningService) async throws -> Result
) async throws -> Result {
    let prefix = Application.name.uppercased().replacing("-", with: "_")
    let defaults = [
        "GATEHOUSE_ENVIRONMENT": "development",
        "GATEHOUSE_PATIENCE_MS": "60000",
        "\(prefix)_LISTEN_ADDRESS": "127.0.0.1:0",
        "\(prefix)_ADMIN_LISTEN_ADDRESS": "127.0.0.1:0",
        "\(prefix)_SHUTDOWN_GRACE": "120",
    ]
    let configuration = try ServiceConfiguration<Application>.load(
        environment: defaults.merging(settings) { $1 })
    _ = Telemetry.metrics
    let process = ServiceProcess(configuration, logger: logger)
    return try await withThrowingTaskGroup(of: Void.self) { group in
        // A process has one tracer, and a test's process has many services.
        group.addTask { try await withTracer(process.tracer ?? NoOpTracer()) { try await process.run() } }
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
    // Wait until the ports are open or the service has ended.
    try await group.next()
    let ports = (try await process.listening.port(), try await process.adminListening.port())
    return RunningService(
        url: URL(string: "http://127.0.0.1:\(ports.0)")!, adminURL: URL(string: "http://127.0.0.1:\(ports.1)")!,
        stop: { process.stop() })
}
