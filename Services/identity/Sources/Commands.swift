import AsyncHTTPClient
import Foundation
import GatehouseServiceKit
import IdentityCore
import IdentityCredentials
import Logging

extension IdentityParts {
    /// The settings of the environment, as the service would read them.
    fileprivate static func configuration() throws -> IdentityConfiguration {
        try ServiceConfiguration<IdentityApplication>.loadOrExit().application
    }

    /// Runs `body` for a command, then ends all threads and connections.
    static func run(
        _ configuration: IdentityConfiguration, _ body: (IdentityParts) async throws -> Void
    ) async throws {
        let httpClient = HTTPClient(eventLoopGroupProvider: .singleton, configuration: .gatehouse())
        do {
            let parts = IdentityParts(
                configuration, httpClient: httpClient, eventLoopGroup: HTTPClient.defaultEventLoopGroup,
                logger: Logger(label: IdentityApplication.name) { _ in SwiftLogNoOpLogHandler() })
            do {
                // The audit log names the operator who ran the command.
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

extension UserAdministration {
    /// Runs `body` with the settings of the environment.
    static func run(_ body: (UserAdministration) async throws -> Void) async throws {
        try await run(IdentityParts.configuration(), body)
    }

    static func run(
        _ configuration: IdentityConfiguration, _ body: (UserAdministration) async throws -> Void
    ) async throws {
        try await IdentityParts.run(configuration) { try await body($0.administration) }
    }
}

extension AuditAdministration {
    /// Runs `body` with the settings of the environment.
    static func run(_ body: (AuditAdministration) async throws -> Void) async throws {
        try await IdentityParts.run(IdentityParts.configuration()) { try await body($0.auditAdministration) }
    }
}

extension WebhookAdministration {
    /// Runs `body` with the settings of the environment.
    static func run(_ body: (WebhookAdministration) async throws -> Void) async throws {
        try await IdentityParts.run(IdentityParts.configuration()) { try await body($0.webhookAdministration) }
    }
}

extension UserTransfer {
    /// Runs `body` with the settings of the environment.
    static func run(_ body: (UserTransfer) async throws -> Void) async throws {
        try await IdentityParts.run(IdentityParts.configuration()) { try await body($0.transfer) }
    }
}

extension AppleTransfer {
    /// Runs `body` with the settings of the environment.
    static func run(_ body: (AppleTransfer) async throws -> Void) async throws {
        try await IdentityParts.run(IdentityParts.configuration()) { parts in
            guard let transfer = parts.appleTransfer else {
                throw CommandFailure(
                    description: "The team's key at Apple is not set: IDENTITY_APPLE_TEAM_ID and its two others.")
            }
            try await body(transfer)
        }
    }
}
