import Contracts
import Foundation
import Postgres

/// The registrations in PostgreSQL.
struct DeviceStore: Sendable {
    /// Devices of each kind that a user may have. One more, and the device of that kind that registered longest ago
    /// goes.
    static let maximumDevices = 50
    /// Seconds for which a registration that changes nothing is not written.
    static let writeInterval = 86_400.0

    let database: PostgresPool

    /// The user's devices without their tokens, the last registered first.
    func devices(
        of user: UUID, deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> [DeviceExport.Entry] {
        let rows = try await database.query(
            """
            SELECT id, installation_id, environment, bundle_id, kind, status, locale, time_zone, app_version,
                   os_version, model, session_id, created_at, updated_at
            FROM devices WHERE user_id = \(user)
            ORDER BY updated_at DESC, id
            """, deadline: deadline)
        var devices: [DeviceExport.Entry] = []
        devices.reserveCapacity(rows.count)
        for row in rows {
            devices.append(
                DeviceExport.Entry(
                    id: try row.decode(column: 0), installationId: try row.decode(column: 1),
                    environment: try row.word(column: 2), bundleId: try row.decode(column: 3),
                    kind: try row.word(column: 4), status: try row.word(column: 5),
                    locale: try row.decode(column: 6), timeZone: try row.decode(column: 7),
                    appVersion: try row.decode(column: 8), osVersion: try row.decode(column: 9),
                    model: try row.decode(column: 10), sessionId: try row.decode(column: 11),
                    createdAt: try row.decode(column: 12), updatedAt: try row.decode(column: 13)))
        }
        return devices
    }

    /// Removes one device of the user's. Returns whether there was one.
    func remove(
        _ device: UUID, of user: UUID, deadline: ContinuousClock.Instant? = nil
    ) async throws(PostgresError) -> Bool {
        let result = try await database.query(
            "DELETE FROM devices WHERE id = \(device) AND user_id = \(user)", deadline: deadline)
        return result.affectedRows > 0
    }

    /// Removes all that is kept of the user. May be repeated.
    func erase(user: UUID, deadline: ContinuousClock.Instant? = nil) async throws(PostgresError) {
        _ = try await database.query("DELETE FROM devices WHERE user_id = \(user)", deadline: deadline)
    }
}

extension PostgresRow {
    /// Decodes an open enumeration: a newer version of the service may have written a word that this one does not know.
    fileprivate func word<Word: OpenValue>(column: Int) throws(PostgresError) -> Word {
        Word(rawValue: try decode(String.self, column: column))
    }
}
