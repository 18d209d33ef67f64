import Foundation
import Postgres

/// What the stores need of a user within transactions of their own.
extension AccountStore {
    static func account(
        _ id: UUID, on database: some PostgresQuerying, deadline: ContinuousClock.Instant? = nil
    ) async throws -> Account? {
        try await database.query(
            "SELECT \(unescaped: Account.columns) FROM users u \(unescaped: Account.joins) WHERE u.id = \(id)",
            deadline: deadline
        ).first.map(Account.init(row:))
    }

    /// Locks the user's row until the transaction ends. The transaction has neither written nor locked anything before:
    /// PostgreSQL then gives it its number after the wait.
    /// - Returns: whether there is one.
    static func lock(_ userID: UUID, on transaction: PostgresTransaction) async throws -> Bool {
        try await !transaction.query("SELECT id FROM users WHERE id = \(userID) FOR UPDATE").isEmpty
    }

    /// Locks the row of a further user, without waiting for it. This transaction has its number already, so it must not
    /// come after one with a higher number.
    /// - Returns: whether there is one.
    /// - Throws: ``UserIsContended``, for `withRetriedTransaction`.
    static func lockAnother(_ userID: UUID, on transaction: PostgresTransaction) async throws -> Bool {
        let locked = try await transaction.query("SELECT id FROM users WHERE id = \(userID) FOR UPDATE SKIP LOCKED")
        if locked.isEmpty {
            guard try await transaction.query("SELECT id FROM users WHERE id = \(userID)").isEmpty else {
                throw UserIsContended(userID: userID)
            }
            return false
        }
        // In a database that was restored from a dump, old entries have numbers above the present ones: they do not count.
        let isOvertaken = try await transaction.query(
            """
            SELECT EXISTS (
                SELECT FROM audit_entries WHERE user_id = \(userID) AND transaction_id > pg_current_xact_id()
                    AND transaction_id < pg_snapshot_xmax(pg_current_snapshot()))
            """)[0].decode(Bool.self)
        if isOvertaken { throw UserIsContended(userID: userID) }
        return true
    }

    /// Locks the user's row until the transaction ends.
    /// - Returns: whether the account's credentials are still those that were read.
    static func lock(_ account: Account, on transaction: PostgresTransaction) async throws -> Bool {
        let version = try await transaction.query(
            "SELECT credentials_version FROM users WHERE id = \(account.id) FOR UPDATE"
        ).first?.decode(Int64.self)
        return version == account.credentialsVersion
    }

    /// Counts the user's version up, and puts into the outbox that tokens has to be told.
    /// - Parameter credentials: whether sign-ins that are under way have to be proved again. Tokens for resetting the
    ///   password, which were sent out before, then count no longer.
    /// - Returns: the version of the user's credentials now; `nil` when there is no such user.
    @discardableResult
    static func touch(_ userID: UUID, credentials: Bool, on transaction: PostgresTransaction) async throws -> Int64? {
        let version = try await transaction.query(
            """
            UPDATE users SET version = version + 1, updated_at = now(),
                credentials_version = credentials_version + \(credentials ? 1 : 0)
            WHERE id = \(userID)
            RETURNING credentials_version
            """
        ).first?.decode(Int64.self)
        guard let version else { return nil }
        if credentials {
            try await PasswordResetStore.removeAll(of: userID, on: transaction)
        }
        try await OutboxStore.enqueueSnapshot(of: userID, on: transaction)
        return version
    }
}
