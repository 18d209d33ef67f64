import Bytes
import Contracts
import Foundation
import Postgres

extension AuditLog {
    /// Adds the entry of a sign-in whose session has been made, unless the account has changed since the proof: then the
    /// session is not given out (``SignInOutcome``), and there is no entry. One statement, because each sign-in runs it.
    /// - Parameter account: as it was when the proof was made.
    /// - Returns: what the account is like now; `nil` when it is gone.
    static func recordSignIn(
        to account: Account, by methods: [AuthenticationMethod], session: UUID, on database: some PostgresQuerying,
        deadline: ContinuousClock.Instant
    ) async throws -> AccountStanding? {
        let origin = AuditScope.current?.origin
        let salt = origin.map { _ in [UInt8].random(count: 16) }
        let row = try await database.query(
            """
            WITH standing AS (
                SELECT state, version, credentials_version FROM users WHERE id = \(account.id) FOR KEY SHARE
            ), entry AS (
                INSERT INTO audit_entries
                    (user_id, actor, actor_id, event, detail, session_id, count, origin_digest)
                SELECT \(account.id), \(AuditActor.user.rawValue), \(account.id.uuidString.lowercased()),
                    \(AuditEvent.signedIn.rawValue), \(methods.map(\.rawValue).joined(separator: " ")), \(session), 1,
                    \(salt.flatMap { origin?.digest(salt: $0) })
                FROM standing
                WHERE state = \(AccountState.active.rawValue) AND credentials_version = \(account.credentialsVersion)
                RETURNING id
            ), origin AS (
                INSERT INTO audit_origins (entry_id, user_id, salt, address, user_agent, device, app_version)
                SELECT id, \(account.id), \(salt), \(origin?.address), \(origin?.userAgent), \(origin?.device),
                    \(origin?.appVersion)
                FROM entry WHERE \(salt) IS NOT NULL
            )
            SELECT state, version, credentials_version FROM standing
            """, deadline: deadline
        ).first
        return try row.map(AccountStanding.init(row:))
    }
}
