import Foundation
import GatehouseServiceContracts
import Postgres
import ServiceKitPostgres

/// Stores registrations, and makes the user the token's owner.
struct RegistrationStore: Sendable {
    /// The maximum number of a user's devices of each kind. A further registration removes the user's device of that
    /// kind that was seen longest ago.
    static let maximumDevices = 50
    /// Tokens that a user may register in a day without having had them. A token that is invented costs rows in other
    /// buckets than the user's. Apple gives each Live Activity a token of its own.
    static let maximumNewTokens = 200

    let database: PostgresPool
    let protection: PushTokenProtection
    let lastSeen: LastSeenWriter

    /// Stores a registration. The token then belongs to this user alone.
    ///
    /// - Returns: the device as its user sees it. If the session was revoked, or belongs to another user, `nil`, and
    ///   nothing has changed.
    /// - Throws: ``TooManyNewTokens``
    func register(_ registration: ValidRegistration, user: UUID, session: UUID) async throws -> Device? {
        guard Bucket(session: session) == Bucket(user: user) else { return nil }
        let hash = protection.hash(registration)
        var rows = try await database.query(present(registration, hash: hash, user: user, session: session))
        if let row = rows.first {
            lastSeen.note(
                try row.decode("device_id"), in: Bucket(user: user), at: try row.decode("seen_at"))
        } else {
            let sealedToken = try protection.seal(registration.token, hash: hash)
            let statement = Self.statement(
                registration, hash: hash, sealedToken: sealedToken, user: user, session: session)
            rows = try await retryingConflicts { () throws(PostgresError) in
                try await database.query(statement)
            }
        }
        guard let row = rows.first else { return nil }
        guard try row.decode("is_allowed") else { throw TooManyNewTokens() }
        let (id, createdAt, lastSeenAt, _) = try row.decode((UUID, Date, Date, Bool).self)
        return Device(
            id: id, installationId: registration.installationID, environment: registration.environment,
            bundleId: registration.bundleID, kind: registration.kind, activity: registration.activity,
            attributesType: registration.attributesType, status: .active, locale: registration.locale,
            timeZone: registration.timeZone, appVersion: registration.appVersion,
            alertsAllowed: registration.alertsAllowed, createdAt: createdAt, updatedAt: lastSeenAt)
    }

    /// The same registration, if the device was seen within a day. Its session is live: a revocation removes such rows.
    ///
    /// A statement of its own, because apps register at every start, and usually nothing has changed.
    private func present(
        _ registration: ValidRegistration, hash: Data, user: UUID, session: UUID
    ) -> PostgresQuery {
        """
        SELECT device_id, registered_at, statement_timestamp() AS seen_at, true AS is_allowed
        FROM find_unchanged_device(
            \(Bucket(user: user)), \(user), \(session), \(hash), \(registration.activity),
            \(registration.attributesType), \(registration.installationID), \(registration.locale),
            \(registration.timeZone), \(registration.appVersion), \(registration.osVersion), \(registration.model),
            \(protection.sealedPrefix), \(registration.alertsAllowed))
        JOIN push_token_owner(\(hash)) ON owner_id = \(user) AND owner_epoch = epoch
        """
    }

    /// Each function touches one hash or one bucket, and can be called alone. In one statement they leave nothing half
    /// done. Apart, a failure between two of them leaves a void registration, which no reader shows: the next
    /// registration completes it, because `present` reads the owner too, and ``ExpiredRegistrationStore`` removes it.
    private static func statement(
        _ registration: ValidRegistration, hash: Data, sealedToken: Data, user: UUID, session: UUID
    ) -> PostgresQuery {
        let bucket = Bucket(user: user)
        return """
            WITH session AS MATERIALIZED (
                -- Delays a revocation of the session until the commit. The steps below run only for a live session,
                -- each for a row of the step before it.
                SELECT session_is_live(\(bucket), \(session)) AS is_live
            ), counted AS MATERIALIZED (
                SELECT count_push_token(\(bucket), \(user), \(hash), \(Int32(maximumNewTokens))) AS is_allowed
                FROM session WHERE is_live
            ), owned AS MATERIALIZED (
                SELECT own_push_token(\(hash), \(user)) AS owner FROM counted WHERE is_allowed
            ), registered AS MATERIALIZED (
                SELECT register_device(
                    \(bucket), \(user), \(session), \(hash), (owner).new_epoch, \(sealedToken),
                    \(registration.environment.rawValue), \(registration.bundleID), \(registration.kind.rawValue),
                    \(registration.activity), \(registration.attributesType), \(registration.installationID),
                    \(registration.locale), \(registration.timeZone), \(registration.appVersion),
                    \(registration.osVersion), \(registration.model), \(Int32(maximumDevices)),
                    \(registration.alertsAllowed)) AS device, owner
                FROM owned
            ), removed AS MATERIALIZED (
                SELECT remove_void_device(
                    bucket_of((owner).former_user), (owner).former_user, \(hash), (owner).former_epoch, \(user),
                    (owner).new_epoch)
                FROM registered WHERE (owner).former_user IS NOT NULL
            ), disowned AS MATERIALIZED (
                SELECT count(disown_push_token(displaced.hash, \(user), displaced.epoch))
                FROM registered, unnest((device).displaced_hashes, (device).displaced_epochs) AS displaced (hash, epoch)
            )
            SELECT (device).device_id, (device).registered_at, (device).seen_at, is_allowed
            FROM counted LEFT JOIN registered ON true LEFT JOIN removed ON true LEFT JOIN disowned ON true
            WHERE NOT is_allowed OR (device).device_id IS NOT NULL
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

/// A user has registered too many new tokens today.
struct TooManyNewTokens: Error {}
