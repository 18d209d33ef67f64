import Contracts
import Foundation
import Postgres

/// Users, in PostgreSQL (table `users`). Every function is one statement or one short transaction.
///
/// Here and in every other store a transaction locks a user's row before it writes anything and before any row that
/// belongs to the user, so that no two transactions wait for each other, and the transactions of one user have numbers in
/// their order: the feed of events goes by these. For a further user no transaction waits
/// (``lockAnother(_:on:)``).
struct AccountStore: Sendable {
    let database: PostgresPool

    func account(_ id: UUID, deadline: ContinuousClock.Instant? = nil) async throws -> Account? {
        try await Self.account(id, on: database, deadline: deadline)
    }

    /// - Returns: `nil` when the account is gone.
    func standing(of id: UUID, deadline: ContinuousClock.Instant) async throws -> AccountStanding? {
        try await database.query(
            "SELECT state, version, credentials_version FROM users WHERE id = \(id)", deadline: deadline
        ).first.map(AccountStanding.init(row:))
    }

    /// Accounts from the oldest to the newest: those that come after `last` in that order, or from the first.
    func list(after last: Account?, limit: Int) async throws -> [Account] {
        try await database.query(
            """
            SELECT \(unescaped: Account.columns) FROM users u \(unescaped: Account.joins)
            WHERE \(last?.id) IS NULL OR (u.created_at, u.id) > (\(last?.createdAt), \(last?.id))
            ORDER BY u.created_at, u.id LIMIT \(limit)
            """
        ).map(Account.init(row:))
    }

    /// The user's role as it is now; `nil` where the account is gone or disabled.
    func roleOfActive(_ id: UUID, deadline: ContinuousClock.Instant) async throws -> String? {
        try await database.query("SELECT role FROM users WHERE id = \(id) AND state = 'active'", deadline: deadline)
            .first?.decode(String.self)
    }

    /// Changes what others are shown of the user.
    /// - Returns: `nil` when there is no such user.
    func change(
        _ userID: UUID, to change: AccountChange, actor: AuditActor, deadline: ContinuousClock.Instant? = nil
    ) async throws -> Account? {
        try await database.withRetriedTransaction(deadline: deadline) { transaction in
            guard try await Self.lock(userID, on: transaction) else { return nil }
            var events: [AuditEvent] = []
            if let name = change.displayName {
                let renamed = try await transaction.query(
                    """
                    UPDATE users SET display_name = \(name?.value)
                    WHERE id = \(userID) AND display_name IS DISTINCT FROM \(name?.value)
                    """)
                if renamed.affectedRows == 1 { events.append(.profileChanged) }
            }
            let (role, stores) = (change.role?.name, change.stores?.ids.map(\.value))
            if role != nil || stores != nil {
                let changed = try await transaction.query(
                    """
                    UPDATE users SET role = coalesce(\(role), role), store_ids = coalesce(\(stores), store_ids)
                    WHERE id = \(userID)
                        AND (role <> coalesce(\(role), role) OR store_ids <> coalesce(\(stores), store_ids))
                    """)
                if changed.affectedRows == 1 { events.append(.roleChanged) }
            }
            if !events.isEmpty { try await Self.touch(userID, credentials: false, on: transaction) }
            let account = try await Self.account(userID, on: transaction)
            for event in events {
                try await AuditLog.record(
                    event, userID, by: actor, detail: event == .roleChanged ? account?.role : nil, on: transaction)
            }
            return account
        }
    }

    /// - Parameter name: `nil` takes the name away.
    /// - Returns: `nil` when there is no such user.
    func rename(_ userID: UUID, to name: DisplayName?, deadline: ContinuousClock.Instant) async throws -> Account? {
        try await change(userID, to: AccountChange(displayName: .some(name)), actor: .user, deadline: deadline)
    }

    /// Enables or disables the account. Disabling ends its sessions.
    /// - Returns: `nil` when there is no such user.
    func setState(
        _ state: AccountState, of userID: UUID, actor: AuditActor, deadline: ContinuousClock.Instant? = nil
    ) async throws -> Account? {
        try await database.withRetriedTransaction(deadline: deadline) { transaction in
            guard try await Self.lock(userID, on: transaction) else { return nil }
            try await Self.setState(state, of: userID, actor: actor, on: transaction)
            return try await Self.account(userID, on: transaction)
        }
    }

    /// The same for a user whose row is locked.
    static func setState(
        _ state: AccountState, of userID: UUID, actor: AuditActor, detail: String? = nil,
        on transaction: PostgresTransaction
    ) async throws {
        let updated = try await transaction.query(
            "UPDATE users SET state = \(state.rawValue) WHERE id = \(userID) AND state <> \(state.rawValue)")
        guard updated.affectedRows == 1, let version = try await touch(userID, credentials: true, on: transaction)
        else { return }
        try await AuditLog.record(
            state == .disabled ? .disabled : .enabled, userID, by: actor, detail: detail, on: transaction)
        if state == .disabled {
            try await OutboxStore.enqueue(
                .revokeSessions(reason: .accountDisabled, except: nil, below: version), user: userID,
                dueAtOnce: true, on: transaction)
        }
    }

    /// Ends the user's sessions, and has sign-ins that are under way prove themselves again.
    /// - Returns: whether there is such a user.
    func endSessions(of userID: UUID, actor: AuditActor, deadline: ContinuousClock.Instant) async throws -> Bool {
        try await database.withRetriedTransaction(deadline: deadline) { transaction in
            guard try await Self.lock(userID, on: transaction),
                let version = try await Self.touch(userID, credentials: true, on: transaction)
            else { return false }
            try await AuditLog.record(.sessionsEnded, userID, by: actor, on: transaction)
            try await OutboxStore.enqueue(
                .revokeSessions(reason: .administrator, except: nil, below: version), user: userID, dueAtOnce: true,
                on: transaction)
            return true
        }
    }

    /// Ends one session, by an operator's word: the entry of it and the task stand or fall together.
    /// - Returns: `false` when there is no such user.
    func endSession(_ session: UUID, of userID: UUID, deadline: ContinuousClock.Instant) async throws -> Bool {
        try await database.withRetriedTransaction(deadline: deadline) { transaction in
            guard try await Self.lock(userID, on: transaction) else { return false }
            try await AuditLog.record(.sessionEnded, userID, by: .operator, session: session, on: transaction)
            try await OutboxStore.enqueue(
                .endSession(session: session), user: userID, dueAtOnce: true, on: transaction)
            return true
        }
    }
}
