import Contracts
public import Foundation
import Postgres
import ServiceKitPostgres
public import Settings

/// The work of `tokens after-restore`, which must precede the use of a restored database.
public struct Restoration: Sendable {
    private let configuration: PostgresConfiguration
    private let accessLifetime: TimeInterval

    /// - Parameter environment: the process' environment; another one in tests. Only the settings of the database and
    ///   `TOKENS_ACCESS_TOKEN_LIFETIME` are needed.
    /// - Throws: `SettingsError`
    public init(environment: [String: String] = ProcessInfo.processInfo.environment) throws(SettingsError) {
        let settings = Settings(service: TokensApplication.name, environment: environment)
        var configuration = DatabaseConfiguration(settings: settings).connection
        // A large table takes long, and no request waits for this command.
        configuration.statementTimeout = .zero
        self.configuration = configuration
        accessLifetime = TimeInterval(settings.accessTokenLifetime())
        try settings.finish(allowingUnknown: true)
    }

    /// What happened to the sessions.
    public enum Outcome: Sendable, Equatable {
        /// All have ended.
        case ended(sessions: Int)
        case kept(sessions: Int)
    }

    /// Allows the service to use the database. Idempotent.
    ///
    /// The copy does not show whether a session ended or was rotated after the copy was made. So all sessions end. The
    /// revocation feed gets an entry for each session whose access tokens may still be valid.
    ///
    /// - Parameter keepingSessions: allowed only if nothing was committed after the copy was made.
    /// - Throws: `PostgresError`
    public func run(keepingSessions: Bool) async throws -> Outcome {
        let connection = try await PostgresConnection.connect(configuration)
        do {
            let outcome = try await connection.withTransaction(deadline: .now + .seconds(3600)) { transaction in
                let sessions = try await transaction.query("SELECT count(*) FROM sessions")[0].decode(Int.self)
                if !keepingSessions { try await endSessions(transaction) }
                try await transaction.query("DELETE FROM database_origin")
                try await transaction.query("INSERT INTO database_origin DEFAULT VALUES")
                // Every reader of the feed must start over: the readers' positions belong to another history.
                try await transaction.query("DELETE FROM revocation_epoch")
                return keepingSessions ? Outcome.kept(sessions: sessions) : .ended(sessions: sessions)
            }
            await connection.close()
            return outcome
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Adds an entry to the feed only for sessions with a valid access token. Otherwise gateways would have to remember
    /// millions of sessions whose access tokens have long expired.
    private func endSessions(_ transaction: PostgresTransaction) async throws {
        try await transaction.query("LOCK TABLE sessions, users IN ACCESS EXCLUSIVE MODE")
        try await transaction.query(
            """
            WITH ended AS (
                SELECT id, user_id, access_expires_at FROM sessions WHERE access_expires_at > statement_timestamp()
            )
            \(revocationsOfEnded: .administrator, SessionStore.Lifetimes(access: accessLifetime))
            """)
        try await transaction.query("TRUNCATE sessions, users")
    }
}

/// Detects a database that was restored from a dump. Such a database lacks every change after the dump: ended sessions
/// would be live again, and rotated tokens would be current. So the service does not use a restored database until an
/// operator has decided about its sessions (``Restoration``).
///
/// The check cannot distinguish a restored file backup, or point-in-time recovery, from a standby's promotion. In those
/// cases the operator has to run the command before the service starts.
enum DatabaseOrigin {
    /// Checks each new connection.
    ///
    /// - Throws: `connectionFailed` when the database was restored, so that requests are answered `UNAVAILABLE`.
    static func check(_ connection: PostgresConnection) async throws(PostgresError) {
        guard try await isRestored(connection) else { return }
        throw PostgresError(.connectionFailed, refusal)
    }

    static func isRestored(_ connection: some PostgresQuerying) async throws(PostgresError) -> Bool {
        let rows = try await connection.query("SELECT xmin = transaction_id::xid FROM database_origin")
        guard let row = rows.first else { return true }
        return try !row.decode(Bool.self)
    }

    static let refusal = """
        this database was made of a dump, and what happened after the dump is missing: run `tokens after-restore` \
        (docs/operations/backup.md)
        """
}
