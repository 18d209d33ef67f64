import Contracts
public import Foundation
import Postgres
import ServiceKitPostgres
public import Settings

/// What `tokens after-restore` does, before the service may use a database that was restored.
public struct Restoration: Sendable {
    private let configuration: PostgresConfiguration
    private let accessLifetime: TimeInterval

    /// - Parameter environment: the process' environment; another one in tests. Of the settings only those of the
    ///   database and `TOKENS_ACCESS_TOKEN_LIFETIME` are needed.
    /// - Throws: `SettingsError`
    public init(environment: [String: String] = ProcessInfo.processInfo.environment) throws(SettingsError) {
        let settings = Settings(service: TokensApplication.name, environment: environment)
        var configuration = DatabaseConfiguration(settings: settings).connection
        // A large table takes its time, and nobody waits for it.
        configuration.statementTimeout = .zero
        self.configuration = configuration
        accessLifetime = TimeInterval(settings.accessTokenLifetime())
        try settings.finish(allowingUnknown: true)
    }

    /// What was done with the sessions.
    public enum Outcome: Sendable, Equatable {
        /// All have ended.
        case ended(sessions: Int)
        case kept(sessions: Int)
    }

    /// Makes the database one that the service uses. Can be repeated.
    ///
    /// Of a session in a copy nobody can tell whether it ended or was rotated after the copy was made. So all of them
    /// end. Those whose access tokens may still be good are told to the readers of the revocation feed.
    ///
    /// - Parameter keepingSessions: only where it is certain that nothing was committed after the copy was made.
    /// - Throws: `PostgresError`
    public func run(keepingSessions: Bool) async throws -> Outcome {
        let connection = try await PostgresConnection.connect(configuration)
        do {
            let outcome = try await connection.withTransaction(deadline: .now + .seconds(3600)) { transaction in
                let sessions = try await transaction.query("SELECT count(*) FROM sessions")[0].decode(Int.self)
                if !keepingSessions { try await endSessions(transaction) }
                try await transaction.query("DELETE FROM database_origin")
                try await transaction.query("INSERT INTO database_origin DEFAULT VALUES")
                // Whoever reads the feed starts over: the positions of readers are of another history.
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

    /// Without an entry in the feed for each: gateways would have to remember millions of sessions whose access tokens
    /// have long expired.
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

/// Whether the database is the one that this service has written all along, or was made of a dump. What happened after
/// the dump is missing then: sessions that have ended since would live again, and tokens that were rotated away be
/// current. So a restored database is not used until an operator has said what becomes of its sessions
/// (``Restoration``).
///
/// A backup of the files, and recovery to a point in time, can't be told from a standby's promotion: of those the
/// operator has to know.
enum DatabaseOrigin {
    /// Asked of each new connection.
    ///
    /// - Throws: `connectionFailed` where the database was restored, so that requests are answered `UNAVAILABLE`.
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
