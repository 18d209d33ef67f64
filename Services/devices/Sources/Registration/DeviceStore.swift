public import Foundation
import GatehouseServiceContracts
import Postgres
import ServiceKitPostgres

/// The registrations in PostgreSQL, as their users and operators see them.
struct DeviceStore: Sendable {
    let database: PostgresPool

    /// Targets of a bucket that one statement looks at when it erases a user's.
    private static let erasedAtOnce: Int32 = 10_000

    /// The user's devices without their tokens, the last seen first.
    func devices(of user: UUID) async throws(PostgresError) -> [DeviceExport.Entry] {
        let rows = try await database.query(
            """
            SELECT id, installation_id, environment, bundle_id, kind, activity, attributes_type, status, locale,
                   time_zone, app_version, os_version, model, alerts_allowed, session_id, created_at, last_seen_at,
                   token_hash, token_epoch
            FROM devices WHERE bucket = \(Bucket(user: user)) AND user_id = \(user)
            ORDER BY last_seen_at DESC, id
            """)
        let tokens = try rows.map { row throws(PostgresError) in
            (hash: try row.decode("token_hash", as: Data.self), epoch: try row.decode("token_epoch", as: Int64.self))
        }
        let owners = try await TokenOwnerStore(database: database).owners(of: Set(tokens.map(\.hash)))
        var devices: [DeviceExport.Entry] = []
        for (row, token) in zip(rows, tokens)
        where owners[token.hash] == TokenOwner(user: user, epoch: token.epoch) {
            devices.append(try DeviceExport.Entry(row))
        }
        return devices
    }

    /// Removes one of the user's devices. Returns whether it existed.
    func remove(_ device: UUID, of user: UUID) async throws -> Bool {
        // Until the commit, a registration of the token waits for the row or for the owner, so that it keeps both.
        try await database.withTransaction { transaction in
            let removed = try await transaction.query(
                """
                DELETE FROM devices WHERE bucket = \(Bucket(user: user)) AND id = \(device) AND user_id = \(user)
                RETURNING token_hash, token_epoch
                """
            ).decode((Data, Int64).self).first
            guard let (hash, epoch) = removed else { return false }
            _ = try await transaction.commit(after: "SELECT disown_push_token(\(hash), \(user), \(epoch))")
            return true
        }
    }

    /// Removes all of the user's devices, targets and counts of pushes to them, the user as the owner of tokens, and
    /// the user's tags, and remembers the user, who gets no more tags. Idempotent. The feed of outcomes and the
    /// recipients of pushes keep the user's id until they are purged.
    func erase(user: UUID) async throws {
        try await database.query("DELETE FROM push_token_owners WHERE user_id = \(user)")
        try await database.query(
            "DELETE FROM devices WHERE bucket = \(Bucket(user: user)) AND user_id = \(user)")
        try await database.query(
            "DELETE FROM push_user_days WHERE bucket = \(Bucket(user: user)) AND user_id = \(user)")
        try await database.query(
            "DELETE FROM push_token_days WHERE bucket = \(Bucket(user: user)) AND user_id = \(user)")
        var position: (push: UUID, device: UUID)? = (PushStore.zero, PushStore.zero)
        while let after = position {
            let (push, device) = try await database.query(
                """
                SELECT next_push, next_device FROM erase_push_targets(
                    \(Bucket(user: user)), \(user), \(after.push), \(after.device), \(Self.erasedAtOnce))
                """
            )[0].decode((UUID?, UUID?).self)
            position = push.flatMap { push in device.map { (push, $0) } }
        }
        try await UserTagStore(database: database).erase(user)
    }

    /// When tokens of the user passed to other users, the latest first.
    func ownerChanges(of user: UUID) async throws(PostgresError) -> [OwnerChange] {
        let rows = try await database.query(
            """
            SELECT occurred_at, new_user_id, token FROM security_events
            WHERE bucket = \(Bucket(user: user)) AND user_id = \(user) AND kind = 'tokenOwnerChanged'
            ORDER BY occurred_at DESC
            """)
        return try rows.decode((Date, UUID, Data).self).map { OwnerChange(at: $0, newUser: $1, token: $2) }
    }
}

/// A push token passed from one user to another, as when both use one phone.
public struct OwnerChange: Sendable, Equatable {
    public let at: Date
    public let newUser: UUID
    /// The beginning of the token's hash, by which changes of one token are recognised.
    public let token: Data
}

extension DeviceExport.Entry {
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        // A newer version of the service may have written values unknown to this one.
        self.init(
            id: try row.decode("id"), installationId: try row.decode("installation_id"),
            environment: PushEnvironment(rawValue: try row.decode("environment")),
            bundleId: try row.decode("bundle_id"), kind: PushKind(rawValue: try row.decode("kind")),
            activity: try row.decode("activity"), attributesType: try row.decode("attributes_type"),
            status: DeviceStatus(rawValue: try row.decode("status")), locale: try row.decode("locale"),
            timeZone: try row.decode("time_zone"), appVersion: try row.decode("app_version"),
            osVersion: try row.decode("os_version"), model: try row.decode("model"),
            alertsAllowed: try row.decode("alerts_allowed"), sessionId: try row.decode("session_id"),
            createdAt: try row.decode("created_at"),
            updatedAt: try row.decode("last_seen_at"))
    }
}
