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

    /// - Throws: the exit code of a command, when the settings are wrong.
    public init() throws {
        let settings = Settings(service: DevicesApplication.name)
        let database = DatabaseConfiguration(settings: settings)
        do {
            try settings.finish(allowingUnknown: true)
        } catch {
            throw CommandError.wrongConfiguration(error)
        }
        let quiet = Logger(label: DevicesApplication.name) { _ in SwiftLogNoOpLogHandler() }
        store = DeviceStore(database: database.pool(logger: quiet))
    }

    /// The user's devices, the last registered first.
    ///
    /// - Throws: the exit code of a command.
    public func devices(of user: UUID) async throws -> [DeviceExport.Entry] {
        defer { store.database.close() }
        do {
            return try await store.devices(of: user)
        } catch {
            throw CommandError.failure(DevicesApplication.name, error)
        }
    }
}
