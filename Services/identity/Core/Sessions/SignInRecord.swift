import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import Postgres

extension AuditEvent {
    static let signedIn = Self("signed_in", published: .sessionCreated)
    /// A signed-in user has authenticated again.
    static let reauthenticated = Self("reauthenticated")

    package static let ofSessions = [signedIn, reauthenticated]
}

extension AuditedAttempt.Action {
    static let reauthentication = Self(name: "reauthentication")
}

extension AuditStore {
    /// Adds the entry of a sign-in whose session has been created, unless the account has changed since the user was
    /// verified. In that case the session is not issued (``SignInOutcome``), and no entry is added. It is one
    /// statement, because each sign-in runs it.
    /// - Parameter account: as it was when the user was verified.
    /// - Returns: the account's present versions; `nil` when it is gone.
    static func recordSignInIfUnchanged(
        to account: Account, by verification: Verification, session: UUID, on database: some PostgresQuerying
    ) async throws -> AccountVersions? {
        let origin = AuditScope.current?.origin
        let salt = origin.map { _ in [UInt8].random(count: 16) }
        let row = try await database.query(
            """
            WITH account AS (
                SELECT state, version, credentials_version FROM users WHERE id = \(account.id) FOR KEY SHARE
            ), entry AS (
                INSERT INTO audit_entries
                    (user_id, actor, actor_id, event, detail, session_id, count, origin_digest)
                SELECT \(account.id), \(AuditActor.user.rawValue), \(account.id.uuidString.lowercased()),
                    \(AuditEvent.signedIn.rawValue), \(verification.methods.map(\.rawValue).joined(separator: " ")),
                    \(session), 1,
                    \(salt.flatMap { origin?.digest(salt: $0) })
                FROM account
                WHERE state = \(AccountState.active.rawValue) AND credentials_version = \(account.credentialsVersion)
                RETURNING id
            ), origin AS (
                INSERT INTO audit_origins (entry_id, user_id, salt, address, user_agent, device, app_version)
                SELECT id, \(account.id), \(salt), \(origin?.address), \(origin?.userAgent), \(origin?.device),
                    \(origin?.appVersion)
                FROM entry WHERE \(salt) IS NOT NULL
            ), used AS (
                UPDATE credentials SET last_used_at = now() FROM entry
                WHERE user_id = \(account.id) AND kind = \(verification.credential.kind.rawValue)
                    AND provider = \(verification.credential.provider) AND is_single
                    AND (last_used_at IS NULL OR last_used_at < now() - interval '1 day')
            )
            SELECT state, version, credentials_version FROM account
            """
        ).first
        return try row.map(AccountVersions.init)
    }
}

extension AccountVersions {
    /// - Parameter row: `state`, `version`, `credentials_version`.
    init(_ row: PostgresRow) throws {
        let (state, version, credentialsVersion) = try row.decode((String, Int64, Int64).self)
        self.init(state: try AccountState.read(state), version: version, credentialsVersion: credentialsVersion)
    }
}
