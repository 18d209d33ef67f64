import Contracts
import Foundation
import Postgres

extension AccountStore {
    /// Notes that something about the user changed, and that tokens has to hear of it.
    /// - Parameter credentials: whether sign-ins that are under way have to be proved again, and what was sent out to
    ///   set a new password serves no longer.
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
            try await transaction.query("DELETE FROM password_resets WHERE user_id = \(userID)")
        }
        try await OutboxStore.enqueueSnapshot(of: userID, on: transaction)
        return version
    }

    /// - Parameter name: `nil` takes the name away.
    /// - Returns: `nil` when there is no such user.
    func rename(_ userID: UUID, to name: DisplayName?, deadline: ContinuousClock.Instant) async throws -> Account? {
        try await withTransaction(deadline: deadline) { transaction in
            let updated = try await transaction.query(
                """
                UPDATE users SET display_name = \(name?.value)
                WHERE id = \(userID) AND display_name IS DISTINCT FROM \(name?.value)
                """)
            if updated.affectedRows == 1 {
                try await Self.touch(userID, credentials: false, on: transaction)
            }
            return try await Self.account(userID, on: transaction)
        }
    }

    /// A hash of the same password under today's parameters. Nothing that anybody could notice changes.
    func rehash(_ userID: UUID, from old: String, to new: String) async throws {
        try await database.query(
            "UPDATE passwords SET hash = \(new) WHERE user_id = \(userID) AND hash = \(old)")
    }

    /// Sets or replaces the password, and sees to it that the sessions but `session` end.
    /// - Returns: the entry in the outbox that ends them; `nil` when the account moved since it was read.
    func setPassword(
        of account: Account, to hash: String, sparing session: UUID?, actor: AuditActor = .user,
        deadline: ContinuousClock.Instant? = nil
    ) async throws -> OutboxEntry? {
        try await withTransaction(deadline: deadline) { transaction in
            guard try await Self.lock(account, on: transaction) else { return nil }
            return try await Self.replacePassword(
                of: account.id, by: hash, sparing: session, event: .passwordChanged, actor: actor, on: transaction)
        }
    }

    /// What follows wherever a password takes the place of another, of a user who is locked.
    static func replacePassword(
        of userID: UUID, by hash: String, sparing session: UUID?, event: AuditEvent, actor: AuditActor,
        on transaction: PostgresTransaction
    ) async throws -> OutboxEntry? {
        try await transaction.query(
            """
            INSERT INTO passwords (user_id, hash) VALUES (\(userID), \(hash))
            ON CONFLICT (user_id) DO UPDATE SET hash = EXCLUDED.hash, changed_at = now()
            """)
        guard let version = try await touch(userID, credentials: true, on: transaction) else { return nil }
        try await audit(event, userID, by: actor, on: transaction)
        return try await OutboxStore.enqueue(
            .revokeSessions(reason: .passwordChanged, except: session, below: version), user: userID, on: transaction)
    }

    /// Opens or closes the account. Closing ends its sessions.
    /// - Returns: `nil` when there is no such user.
    func setState(_ state: AccountState, of userID: UUID, actor: AuditActor) async throws -> Account? {
        try await withTransaction { transaction in
            let updated = try await transaction.query(
                "UPDATE users SET state = \(state.rawValue) WHERE id = \(userID) AND state <> \(state.rawValue)")
            if updated.affectedRows == 1,
                let version = try await Self.touch(userID, credentials: true, on: transaction)
            {
                try await Self.audit(state == .disabled ? .disabled : .enabled, userID, by: actor, on: transaction)
                if state == .disabled {
                    try await OutboxStore.enqueue(
                        .revokeSessions(reason: .accountDisabled, except: nil, below: version), user: userID,
                        dueAtOnce: true, on: transaction)
                }
            }
            return try await Self.account(userID, on: transaction)
        }
    }

    /// - Returns: `nil` when there is no such user.
    func setRole(_ role: Role, stores: StoreList?, of userID: UUID) async throws -> Account? {
        try await withTransaction { transaction in
            let updated = try await transaction.query(
                """
                UPDATE users SET role = \(role.name), store_ids = coalesce(\(stores?.ids.map(\.value)), store_ids)
                WHERE id = \(userID)
                """)
            if updated.affectedRows == 1 {
                try await Self.touch(userID, credentials: false, on: transaction)
                try await Self.audit(.roleChanged, userID, by: .operator, on: transaction)
            }
            return try await Self.account(userID, on: transaction)
        }
    }
}
