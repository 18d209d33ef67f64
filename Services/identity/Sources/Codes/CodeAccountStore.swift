import Foundation
import Postgres

/// Whose account somebody gets who has proved an identifier by a code.
struct CodeAccountStore: Sendable {
    let database: PostgresPool

    /// The account that has proved the identifier before, or else a new one, which has it from now on.
    func account(provenBy identifier: Identifier, deadline: ContinuousClock.Instant) async throws -> Account {
        // Two who prove it at the same time may both make an account. One fails to, and finds the other's.
        for _ in 0..<3 {
            if let account = try await owner(of: identifier, deadline: deadline) { return account }
            if let account = try await makeAccount(for: identifier, deadline: deadline) { return account }
        }
        throw StoreConflict()
    }

    /// Notes that the user has proved an identifier of theirs.
    /// - Returns: whether it is the user's.
    func verify(_ identifier: Identifier, of userID: UUID, deadline: ContinuousClock.Instant) async throws -> Bool {
        try await database.withRetriedTransaction(deadline: deadline) { transaction in
            guard try await AccountStore.lock(userID, on: transaction),
                let isProved = try await Self.isProved(identifier, by: userID, on: transaction)
            else { return false }
            if isProved { return true }
            try await transaction.query(
                """
                UPDATE identifiers SET verified = true
                WHERE kind = \(identifier.kind.rawValue) AND value = \(identifier.value) AND user_id = \(userID)
                """)
            try await AccountStore.touch(userID, credentials: false, on: transaction)
            try await AuditLog.record(.identifierVerified, userID, by: .user, on: transaction)
            return true
        }
    }

    /// - Returns: `nil` where the identifier is not the user's.
    func isProved(
        _ identifier: Identifier, by userID: UUID, deadline: ContinuousClock.Instant
    ) async throws -> Bool? {
        try await Self.isProved(identifier, by: userID, on: database, deadline: deadline)
    }

    /// - Returns: `nil` where the identifier is not the user's.
    private static func isProved(
        _ identifier: Identifier, by userID: UUID, on database: some PostgresQuerying,
        deadline: ContinuousClock.Instant? = nil
    ) async throws -> Bool? {
        try await database.query(
            """
            SELECT verified FROM identifiers
            WHERE kind = \(identifier.kind.rawValue) AND value = \(identifier.value) AND user_id = \(userID)
            """, deadline: deadline
        ).decode(Bool.self).first
    }

    /// The account that has proved the identifier.
    func owner(of identifier: Identifier, deadline: ContinuousClock.Instant) async throws -> Account? {
        try await database.query(
            """
            SELECT \(unescaped: Account.columns)
            FROM identifiers i JOIN users u ON u.id = i.user_id \(unescaped: Account.joins)
            WHERE i.kind = \(identifier.kind.rawValue) AND i.value = \(identifier.value) AND i.verified
            """, deadline: deadline
        ).first.map(Account.init(row:))
    }

    /// - Returns: `nil` when somebody else has proved the identifier in between.
    private func makeAccount(
        for identifier: Identifier, deadline: ContinuousClock.Instant
    ) async throws -> Account? {
        struct Taken: Error {}
        let id = UUID()
        do {
            return try await database.withRetriedTransaction(deadline: deadline) { transaction in
                try await transaction.query("INSERT INTO users (id) VALUES (\(id))")
                let isTheirs = try await IdentifierStore.claim(
                    identifier, for: id, proves: true, actor: .user, isNewUser: true, on: transaction)
                guard isTheirs else { throw Taken() }
                try await AuditLog.record(.registered, id, by: .user, on: transaction)
                return try await AccountStore.account(id, on: transaction)
            }
        } catch is Taken {
            return nil
        }
    }
}
