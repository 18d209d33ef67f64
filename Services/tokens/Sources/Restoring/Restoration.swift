public import Foundation
public import GatehouseSettings
import Postgres
import ServiceKitPostgres

/// The work of `tokens after-restore`, which must precede the use of a restored database.
public struct Restoration: Sendable {
    private let configuration: PostgresConfiguration
    private let lifetimes: SessionStore.Lifetimes
    private let retryWindow: TimeInterval

    /// - Parameter environment: the process' environment; another one in tests. Only the settings of the database,
    ///   `TOKENS_ACCESS_TOKEN_LIFETIME` and `TOKENS_RETRY_WINDOW` are used.
    /// - Throws: `SettingsError`
    public init(environment: [String: String] = ProcessInfo.processInfo.environment) throws(SettingsError) {
        let settings = Settings(service: TokensApplication.name, environment: environment)
        var configuration = DatabaseConfiguration(settings: settings).connection
        // A large table takes long, and no request waits for this command.
        configuration.statementTimeout = .zero
        self.configuration = configuration
        lifetimes = SessionStore.Lifetimes(access: TimeInterval(settings.accessTokenLifetime()))
        retryWindow = settings.retryWindow()
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
    /// revocation feed gets an entry for each session whose access tokens may still be valid, as far as the copy shows.
    ///
    /// - Parameter keepingSessions: allowed only if nothing was committed after the copy was made.
    /// - Throws: `PostgresError`
    public func run(keepingSessions: Bool) async throws -> Outcome {
        let connection = try await PostgresConnection.connect(configuration)
        do {
            let outcome = try await connection.withTransaction(deadline: .now + .seconds(3600)) { transaction in
                let sessions = try await SessionStore.count(on: transaction)
                if !keepingSessions {
                    try await SessionStore.endAll(lifetimes, retryWindow: retryWindow, on: transaction)
                }
                try await DatabaseOriginStore.renew(on: transaction)
                return keepingSessions ? Outcome.kept(sessions: sessions) : .ended(sessions: sessions)
            }
            await connection.close()
            return outcome
        } catch {
            await connection.close()
            throw error
        }
    }
}
