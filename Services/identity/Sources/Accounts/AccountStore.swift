import Foundation
import Postgres

/// Users, in PostgreSQL. Every function is one statement or one short transaction.
///
/// A transaction locks a user's row before any row that belongs to the user, so that no two wait for each other.
struct AccountStore: Sendable {
    let database: PostgresPool

    /// The columns that make an ``Account``, over the users `u` of a statement.
    static let columns = """
        u.id, coalesce(e.value, a.email), coalesce(e.verified, false), p.value, u.display_name, u.role, u.store_ids,
        u.state, e.value IS NOT NULL OR p.value IS NOT NULL, w.user_id IS NOT NULL, a.user_id IS NOT NULL,
        u.version, u.credentials_version, u.created_at, u.updated_at
        """
    static let joins = """
        LEFT JOIN identifiers e ON e.user_id = u.id AND e.kind = 'email'
        LEFT JOIN identifiers p ON p.user_id = u.id AND p.kind = 'phone'
        LEFT JOIN passwords w ON w.user_id = u.id
        LEFT JOIN apple_identities a ON a.user_id = u.id
        """

    /// Runs a transaction, and again if PostgreSQL ended it to resolve a deadlock: then it has done nothing. The order
    /// of locks leaves one: two users who take an address from each other in the same moment.
    func withTransaction<Value: Sendable>(
        deadline: ContinuousClock.Instant? = nil, _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        for _ in 0..<2 {
            do {
                return try await database.withTransaction(deadline: deadline, body)
            } catch let error as PostgresError where error.sqlState == .deadlockDetected {
                // The other one has to wake up before what has come free is taken again.
                try await Task.sleep(for: .milliseconds(.random(in: 10...50)))
            }
        }
        return try await database.withTransaction(deadline: deadline, body)
    }

    func account(_ id: UUID, deadline: ContinuousClock.Instant? = nil) async throws -> Account? {
        try await Self.account(id, on: database, deadline: deadline)
    }

    static func account(
        _ id: UUID, on database: some PostgresQuerying, deadline: ContinuousClock.Instant? = nil
    ) async throws -> Account? {
        try await database.query(
            "SELECT \(unescaped: columns) FROM users u \(unescaped: joins) WHERE u.id = \(id)", deadline: deadline
        ).first.map(Account.init(row:))
    }

    /// The account and its password's hash.
    func accountWithPassword(
        _ userID: UUID, deadline: ContinuousClock.Instant
    ) async throws -> (account: Account, passwordHash: String?)? {
        let result = try await database.query(
            """
            SELECT \(unescaped: Self.columns), w.hash FROM users u \(unescaped: Self.joins) WHERE u.id = \(userID)
            """, deadline: deadline)
        return try result.first.map { row in
            (try Account(row: row), try row.decode(String?.self, column: Account.columnCount))
        }
    }

    /// The account that signs in with the identifier, and its password's hash.
    func account(
        identifiedBy identifier: Identifier, deadline: ContinuousClock.Instant
    ) async throws -> (account: Account, passwordHash: String?)? {
        let result = try await database.query(
            """
            SELECT \(unescaped: Self.columns), w.hash
            FROM identifiers i JOIN users u ON u.id = i.user_id \(unescaped: Self.joins)
            WHERE i.kind = \(identifier.kind.rawValue) AND i.value = \(identifier.value)
            """, deadline: deadline)
        return try result.first.map { row in
            (try Account(row: row), try row.decode(String?.self, column: Account.columnCount))
        }
    }

    /// The account of Apple's user.
    func account(
        appleSubject subject: String, deadline: ContinuousClock.Instant? = nil
    ) async throws -> (account: Account, email: String?)? {
        let result = try await database.query(
            """
            SELECT \(unescaped: Self.columns), a.email
            FROM apple_identities i JOIN users u ON u.id = i.user_id \(unescaped: Self.joins)
            WHERE i.subject = \(subject)
            """, deadline: deadline)
        return try result.first.map { row in
            (try Account(row: row), try row.decode(String?.self, column: Account.columnCount))
        }
    }

    /// - Returns: `nil` when the account is gone.
    func standing(of id: UUID, deadline: ContinuousClock.Instant) async throws -> AccountStanding? {
        let result = try await database.query(
            "SELECT state, version, credentials_version FROM users WHERE id = \(id)", deadline: deadline)
        return try result.first.map { row in
            let (state, version, credentialsVersion) = try row.decode((String, Int64, Int64).self)
            return AccountStanding(
                state: try AccountState.read(state), version: version, credentialsVersion: credentialsVersion)
        }
    }

    /// Accounts from the oldest to the newest: those that come after `last` in that order, or from the first.
    func list(after last: Account?, limit: Int) async throws -> [Account] {
        try await database.query(
            """
            SELECT \(unescaped: Self.columns) FROM users u \(unescaped: Self.joins)
            WHERE \(last?.id) IS NULL OR (u.created_at, u.id) > (\(last?.createdAt), \(last?.id))
            ORDER BY u.created_at, u.id LIMIT \(limit)
            """
        ).map(Account.init(row:))
    }

    /// Holds the user's row until the transaction ends.
    /// - Returns: whether there is one.
    static func lock(_ userID: UUID, on transaction: PostgresTransaction) async throws -> Bool {
        try await !transaction.query("SELECT id FROM users WHERE id = \(userID) FOR UPDATE").isEmpty
    }

    /// Holds the user's row until the transaction ends.
    /// - Returns: whether the account still is as it was read.
    static func lock(_ account: Account, on transaction: PostgresTransaction) async throws -> Bool {
        let version = try await transaction.query(
            "SELECT credentials_version FROM users WHERE id = \(account.id) FOR UPDATE"
        ).first?.decode(Int64.self)
        return version == account.credentialsVersion
    }
}

extension Account {
    static let columnCount = 15

    init(row: PostgresRow) throws {
        id = try row.decode(column: 0)
        email = try row.decode(column: 1)
        emailVerified = try row.decode(column: 2)
        phone = try row.decode(column: 3)
        displayName = try row.decode(column: 4)
        role = try row.decode(column: 5)
        storeIDs = try row.decode(column: 6)
        state = try AccountState.read(try row.decode(String.self, column: 7))
        hasIdentifier = try row.decode(column: 8)
        hasPassword = try row.decode(column: 9)
        hasApple = try row.decode(column: 10)
        version = try row.decode(column: 11)
        credentialsVersion = try row.decode(column: 12)
        createdAt = try row.decode(column: 13)
        updatedAt = try row.decode(column: 14)
    }
}

extension AccountState {
    struct Unknown: Error {}

    static func read(_ text: String) throws(Unknown) -> AccountState {
        guard let state = AccountState(rawValue: text) else { throw Unknown() }
        return state
    }
}
