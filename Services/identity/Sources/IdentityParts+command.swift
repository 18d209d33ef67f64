import AsyncHTTPClient
import Foundation
import Logging
import ServiceKit

extension IdentityParts {
    /// Runs `body` for a command, and ends all threads and connections after it.
    static func run(
        _ configuration: IdentityConfiguration, _ body: (IdentityParts) async throws -> Void
    ) async throws {
        let httpClient = HTTPClient(eventLoopGroupProvider: .singleton, configuration: .gatehouse())
        do {
            let parts = IdentityParts(
                configuration, httpClient: httpClient, eventLoopGroup: HTTPClient.defaultEventLoopGroup,
                logger: Logger(label: IdentityApplication.name) { _ in SwiftLogNoOpLogHandler() })
            do {
                // The audit log names who has run the command.
                try await AuditScope.$current.withValue(AuditScope(name: operatorsName)) { try await body(parts) }
            } catch {
                try await parts.close()
                throw error
            }
            try await parts.close()
        } catch {
            try await httpClient.shutdown()
            throw error
        }
        try await httpClient.shutdown()
    }

    private static var operatorsName: String {
        let environment = ProcessInfo.processInfo.environment
        return String((environment["SUDO_USER"] ?? ProcessInfo.processInfo.userName).prefix(64))
    }
}
