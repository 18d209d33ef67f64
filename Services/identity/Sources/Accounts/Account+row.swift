import Foundation
import Postgres

extension Account {
    /// The columns of an account, over the users `u` of a statement and ``joins``. A column behind them has the number
    /// ``columnCount``.
    static let columns = """
        u.id, coalesce(e.value, a.email), coalesce(e.verified, false), p.value, coalesce(p.verified, false),
        u.display_name, u.role, u.store_ids, u.state, e.value IS NOT NULL OR p.value IS NOT NULL,
        w.user_id IS NOT NULL, a.user_id IS NOT NULL, u.version, u.credentials_version, u.created_at, u.updated_at,
        ARRAY(SELECT l.kind FROM lost_identifiers l WHERE l.user_id = u.id ORDER BY l.kind),
        ARRAY(
            SELECT 'email'::text WHERE e.verified AND EXISTS (
                SELECT FROM lost_identifiers l WHERE l.kind = 'email' AND l.value = e.value AND l.user_id <> u.id)
            UNION ALL SELECT 'phone'::text WHERE p.verified AND EXISTS (
                SELECT FROM lost_identifiers l WHERE l.kind = 'phone' AND l.value = p.value AND l.user_id <> u.id))
        """
    static let columnCount = 18

    static let joins = """
        LEFT JOIN identifiers e ON e.user_id = u.id AND e.kind = 'email'
        LEFT JOIN identifiers p ON p.user_id = u.id AND p.kind = 'phone'
        LEFT JOIN passwords w ON w.user_id = u.id
        LEFT JOIN apple_identities a ON a.user_id = u.id
        """

    init(row: PostgresRow) throws {
        id = try row.decode(column: 0)
        email = try row.decode(column: 1)
        emailVerified = try row.decode(column: 2)
        phone = try row.decode(column: 3)
        phoneVerified = try row.decode(column: 4)
        displayName = try row.decode(column: 5)
        role = try row.decode(column: 6)
        storeIDs = try row.decode(column: 7)
        state = try AccountState.read(try row.decode(String.self, column: 8))
        hasIdentifier = try row.decode(column: 9)
        hasPassword = try row.decode(column: 10)
        hasApple = try row.decode(column: 11)
        version = try row.decode(column: 12)
        credentialsVersion = try row.decode(column: 13)
        createdAt = try row.decode(column: 14)
        updatedAt = try row.decode(column: 15)
        lostIdentifiers = try row.decode(column: 16)
        mergeableIdentifiers = try row.decode(column: 17)
    }
}

extension AccountState {
    struct Unknown: Error {}

    static func read(_ text: String) throws(Unknown) -> AccountState {
        guard let state = AccountState(rawValue: text) else { throw Unknown() }
        return state
    }
}
