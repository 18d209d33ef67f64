import Foundation
import GatehouseServiceContracts
import Postgres
import Sealing
import TestKit

@testable import DevicesService

/// The stores of one database, with keys for tests.
struct TestRegistry: Sendable {
    let database: PostgresPool
    let protection: PushTokenProtection

    init(_ database: PostgresPool, protection: PushTokenProtection? = nil) {
        self.database = database
        self.protection = protection ?? Self.protection
    }

    /// - Returns: a line of a keys file. The same id has the same key.
    static func keyLine(_ id: String) -> String {
        let key = Data(repeating: id.utf8.reduce(0, &+), count: 32)
        return "\(id):\(key.base64EncodedString())\n"
    }

    static func keys(_ ids: String...) -> KeyRing {
        // The ids above fit.
        (try? KeyRing(ids.map(keyLine).joined())) ?? .placeholder
    }

    static let protection = PushTokenProtection(hashKey: keys("hash"), sealingKeys: keys("1"))

    private var store: DeviceStore { DeviceStore(database: database) }

    func register(_ registration: ValidRegistration, user: UUID, session: UUID) async throws -> Device? {
        let lastSeen = LastSeenWriter(database: database, logger: .quiet)
        let device = try await RegistrationStore(database: database, protection: protection, lastSeen: lastSeen)
            .register(registration, user: user, session: session)
        try await lastSeen.flush()
        return device
    }

    func devices(of user: UUID) async throws -> [DeviceExport.Entry] { try await store.devices(of: user) }

    func remove(_ device: UUID, of user: UUID) async throws -> Bool { try await store.remove(device, of: user) }

    func erase(user: UUID) async throws { try await store.erase(user: user) }

    func ownerChanges(of user: UUID) async throws -> [OwnerChange] { try await store.ownerChanges(of: user) }

    /// The tokens of all registrations, void ones too.
    func tokens() async throws -> [PushToken] {
        let rows = try await database.query("SELECT sealed_token, token_hash FROM devices").decode((Data, Data).self)
        return rows.compactMap { protection.open($0, hash: $1) }
    }

    struct Owner: Equatable {
        var user: UUID
        var epoch: Int64
    }

    func owners() async throws -> [Owner] {
        try await database.query("SELECT user_id, epoch FROM push_token_owners").decode((UUID, Int64).self)
            .map(Owner.init)
    }

    /// The first step of a registration without the others, as after a crash.
    func own(_ registration: ValidRegistration, by user: UUID) async throws {
        try await database.query("SELECT new_epoch FROM own_push_token(\(protection.hash(registration)), \(user))")
    }

    func count(_ table: String) async throws -> Int {
        try await database.query("SELECT count(*) FROM \(unescaped: table)").decode(Int.self)[0]
    }
}
