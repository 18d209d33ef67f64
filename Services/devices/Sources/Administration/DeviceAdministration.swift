import Crypto
public import Foundation
public import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import Logging
import Postgres
import ServiceKitPostgres

/// The operator's commands that read the database directly, without the running service. They need only the settings
/// of the database.
public struct DeviceAdministration: Sendable {
    /// The caller of the pushes that operators send.
    static let caller = "operator"

    private static let quiet = Logger(label: DevicesApplication.name) { _ in SwiftLogNoOpLogHandler() }

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
        store = DeviceStore(database: database.pool(logger: Self.quiet))
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

    /// Queues an alert to the user's devices. A replica sends it within some seconds.
    ///
    /// - Parameter bundleID: `nil` for the only app that the user's devices have registered.
    /// - Returns: the push's id and the number of devices.
    /// - Throws: the exit code of a command.
    public func push(
        to user: UUID, title: String, body: String?, bundleID: String?
    ) async throws -> (id: String, devices: Int) {
        try await read {
            try await Self.push(
                to: user, title: title, body: body, bundleID: bundleID, through: $0, unseen: unseen)
        }
    }

    static func push(
        to user: UUID, title: String, body: String?, bundleID: String?, through store: DeviceStore,
        unseen: UnseenRules
    ) async throws -> (id: String, devices: Int) {
        let apps = Set(try await store.devices(of: user).filter { $0.kind == .alert }.map(\.bundleId))
        guard let app = bundleID ?? (apps.count == 1 ? apps.first : nil) else {
            let found = apps.isEmpty ? "no app" : apps.sorted().joined(separator: ", ")
            throw UnknownApp(description: "the user's devices have registered \(found); choose one with --bundle")
        }
        let payload = TestPushRules.alert(title: title, body: body)
        let request = PushRequest(
            targets: .init(users: [user]), bundleId: app, pushType: .alert, payload: payload, urgency: .urgent)
        let bytes = try JSON.encode(payload)
        let push = try PushRules.validate(request, payload: Array(bytes), now: .now)
        let acceptance = try await PushStore(database: store.database, unseen: unseen, logger: quiet).accept(
            push, of: Self.caller, key: nil, hash: Data(SHA256.hash(data: bytes)))
        guard case .accepted(let answer, _) = acceptance else { return ("", 0) }
        return (answer.id ?? "", answer.devices ?? 0)
    }

    struct UnknownApp: Error, CustomStringConvertible {
        let description: String
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
