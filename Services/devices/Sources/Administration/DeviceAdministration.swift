public import Contracts
public import Foundation
import Logging
import Postgres
import ServiceKit
import ServiceKitPostgres
import Settings

/// The operator's commands that read the database directly, without the running service. They need only the settings
/// of the database.
public struct DeviceAdministration: Sendable {
    private let store: DeviceStore
    private let unseen: UnseenRules

    /// - Throws: the exit code of a command, when the settings are wrong.
    public init() throws {
        let settings = Settings(service: DevicesApplication.name)
        let database = DatabaseConfiguration(settings: settings)
        unseen = UnseenRules(settings: settings)
        do {
            try settings.finish(allowingUnknown: true)
        } catch {
            throw CommandError.wrongConfiguration(error)
        }
        let quiet = Logger(label: DevicesApplication.name) { _ in SwiftLogNoOpLogHandler() }
        store = DeviceStore(database: database.pool(logger: quiet))
    }

    /// The user's devices, the last seen first.
    ///
    /// - Throws: the exit code of a command.
    public func devices(of user: UUID) async throws -> [DeviceExport.Entry] {
        try await read { try await $0.devices(of: user) }
    }

    /// The device's status, or `unseen` if nothing is sent to it any more.
    public func status(of device: DeviceExport.Entry) -> String {
        guard device.status == .active else { return device.status.rawValue }
        return unseen.isReached(lastSeenAt: device.updatedAt, now: .now) ? device.status.rawValue : "unseen"
    }

    /// When push tokens of the user passed to other users, the latest first.
    ///
    /// - Throws: the exit code of a command.
    public func ownerChanges(of user: UUID) async throws -> [OwnerChange] {
        try await read { try await $0.ownerChanges(of: user) }
    }

    private func read<Value: Sendable>(_ body: (DeviceStore) async throws -> Value) async throws -> Value {
        defer { store.database.close() }
        do {
            return try await body(store)
        } catch {
            throw CommandError.failure(DevicesApplication.name, error)
        }
    }
}
