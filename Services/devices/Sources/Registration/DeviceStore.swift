import Contracts
import Foundation
import Postgres

/// The registrations in PostgreSQL.
struct DeviceStore: Sendable {
    /// The maximum number of a user's devices of each kind. A further registration removes the user's device of that
    /// kind that registered longest ago.
    static let maximumDevices = 50
    /// Seconds during which a registration that changes nothing is not written again.
    static let writeInterval = 86_400.0

    let database: PostgresPool

    /// The user's devices without their tokens, the last registered first.
    func devices(of user: UUID) async throws(PostgresError) -> [DeviceExport.Entry] {
        let rows = try await database.query(
            """
            SELECT id, installation_id, environment, bundle_id, kind, status, locale, time_zone, app_version,
                   os_version, model, session_id, created_at, updated_at
            FROM devices WHERE user_id = \(user)
            ORDER BY updated_at DESC, id
            """)
        return try rows.map(DeviceExport.Entry.init)
    }

    /// Removes one of the user's devices. Returns whether it existed.
    func remove(_ device: UUID, of user: UUID) async throws(PostgresError) -> Bool {
        let result = try await database.query("DELETE FROM devices WHERE id = \(device) AND user_id = \(user)")
        return result.affectedRows > 0
    }

    /// Removes all of the user's devices. Idempotent.
    func erase(user: UUID) async throws(PostgresError) {
        _ = try await database.query("DELETE FROM devices WHERE user_id = \(user)")
    }
}

extension DeviceExport.Entry {
    fileprivate init(_ row: PostgresRow) throws(PostgresError) {
        // A newer version of the service may have written values unknown to this one.
        self.init(
            id: try row.decode("id"), installationId: try row.decode("installation_id"),
            environment: PushEnvironment(rawValue: try row.decode("environment")),
            bundleId: try row.decode("bundle_id"), kind: PushKind(rawValue: try row.decode("kind")),
            status: DeviceStatus(rawValue: try row.decode("status")), locale: try row.decode("locale"),
            timeZone: try row.decode("time_zone"), appVersion: try row.decode("app_version"),
            osVersion: try row.decode("os_version"), model: try row.decode("model"),
            sessionId: try row.decode("session_id"), createdAt: try row.decode("created_at"),
            updatedAt: try row.decode("updated_at"))
    }
}

extension DeviceStore {
    /// Stores a registration. The token then belongs to this user alone.
    ///
    /// - Returns: the device as its user sees it. If the session was revoked, `nil`, and nothing has changed.
    func register(_ registration: ValidRegistration, user: UUID, session: UUID) async throws(PostgresError) -> Device? {
        let statement = Self.statement(registration, user: user, session: session)
        let rows = try await retryingConflicts { () throws(PostgresError) in
            try await database.query(statement)
        }
        guard let row = rows.first else { return nil }
        let (id, createdAt, updatedAt) = try row.decode((UUID, Date, Date).self)
        return Device(
            id: id, installationId: registration.installationID, environment: registration.environment,
            bundleId: registration.bundleID, kind: registration.kind, status: .active, locale: registration.locale,
            timeZone: registration.timeZone, appVersion: registration.appVersion, createdAt: createdAt,
            updatedAt: updatedAt)
    }

    /// One statement, because apps register at every start. Usually nothing has changed, and the first step finds the
    /// row. All other steps then do nothing.
    private static func statement(
        _ registration: ValidRegistration, user: UUID, session: UUID
    ) -> PostgresQuery {
        let token = registration.token.bytes
        let environment = registration.environment.rawValue
        let bundle = registration.bundleID
        let kind = registration.kind.rawValue
        let installation = registration.installationID
        let (locale, timeZone) = (registration.locale, registration.timeZone)
        let (appVersion, osVersion, model) = (registration.appVersion, registration.osVersion, registration.model)
        return """
            WITH unchanged AS MATERIALIZED (
                -- The same registration, written within a day. Its session is live: a revocation removes such rows.
                SELECT id, created_at, updated_at FROM devices
                WHERE token = \(token) AND environment = \(environment) AND bundle_id = \(bundle) AND kind = \(kind)
                  AND user_id = \(user) AND session_id = \(session) AND status = 'active'
                  AND installation_id IS NOT DISTINCT FROM \(installation)
                  AND locale IS NOT DISTINCT FROM \(locale) AND time_zone IS NOT DISTINCT FROM \(timeZone)
                  AND app_version IS NOT DISTINCT FROM \(appVersion)
                  AND os_version IS NOT DISTINCT FROM \(osVersion) AND model IS NOT DISTINCT FROM \(model)
                  AND updated_at > now() - make_interval(secs => \(writeInterval))
            ), session AS MATERIALIZED (
                -- Has no row if nothing has changed. Otherwise it delays a revocation of the session until the commit.
                -- The steps below run only for a live session.
                SELECT session_is_live(\(session)) AS is_live WHERE NOT EXISTS (SELECT FROM unchanged)
            ), replaced AS (
                -- The same installation under an earlier token. The new row takes over its id.
                DELETE FROM devices
                WHERE user_id = \(user) AND installation_id = \(installation) AND environment = \(environment)
                  AND bundle_id = \(bundle) AND kind = \(kind) AND kind <> 'liveactivity' AND token <> \(token)
                  AND (SELECT is_live FROM session)
                RETURNING id, created_at
            ), surplus AS (
                -- The user's devices of this kind beyond the maximum: those that registered longest ago.
                DELETE FROM devices
                WHERE (SELECT is_live FROM session) AND id IN (
                    SELECT id FROM devices
                    WHERE user_id = \(user) AND kind = \(kind)
                      AND NOT (token = \(token) AND environment = \(environment) AND bundle_id = \(bundle))
                    ORDER BY updated_at DESC OFFSET \(maximumDevices - 1))
            ), registered AS (
                -- A new row, or the token's row. Another user's row becomes a device of this user, with another id.
                -- Reading `replaced` deletes its row before the unique index of installations is checked.
                INSERT INTO devices AS kept
                    (id, user_id, session_id, token, environment, bundle_id, kind, installation_id, locale, time_zone,
                     app_version, os_version, model, created_at)
                SELECT coalesce((SELECT id FROM replaced), gen_random_uuid()), \(user), \(session), \(token),
                       \(environment), \(bundle), \(kind), \(installation), \(locale), \(timeZone), \(appVersion),
                       \(osVersion), \(model), coalesce((SELECT created_at FROM replaced), now())
                FROM session WHERE is_live
                ON CONFLICT (token, environment, bundle_id, kind) DO UPDATE SET
                    id = CASE WHEN kept.user_id = excluded.user_id THEN kept.id ELSE excluded.id END,
                    created_at = CASE WHEN kept.user_id = excluded.user_id THEN kept.created_at
                                      ELSE excluded.created_at END,
                    user_id = excluded.user_id, session_id = excluded.session_id,
                    installation_id = excluded.installation_id, status = 'active', status_reason = NULL,
                    locale = excluded.locale, time_zone = excluded.time_zone, app_version = excluded.app_version,
                    os_version = excluded.os_version, model = excluded.model, updated_at = now()
                RETURNING id, created_at, updated_at
            )
            SELECT id, created_at, updated_at FROM unchanged
            UNION ALL SELECT id, created_at, updated_at FROM registered
            """
    }

    /// Two concurrent registrations may conflict in a unique index, or deadlock. One of them starts over, and then sees
    /// the changes of the other.
    private func retryingConflicts<Value>(
        _ body: () async throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        for _ in 0..<4 {
            do throws(PostgresError) {
                return try await body()
            } catch {
                guard let state = error.sqlState,
                    [.uniqueViolation, .deadlockDetected, .serializationFailure].contains(state)
                else { throw error }
            }
        }
        return try await body()
    }
}
