import Contracts
import Foundation
import Postgres

/// Creates and reads many users with few statements.
struct UserTransferStore: Sendable {
    let database: PostgresPool

    /// A row of the statements below.
    private struct Row: Codable, Sendable {
        var n: Int
        var id: UUID
        var email: String?
        var emailVerified: Bool
        var phone: String?
        var phoneVerified: Bool
        var displayName: String?
        var role: String
        var storeIDs: [String]
        var state: String
        var hash: String?
        var subject: String?
        var clientID: String?
        var appleEmail: String?
        /// Seconds since 1970.
        var created: Double?

        /// The names of the columns.
        private enum CodingKeys: String, CodingKey {
            case n, id, email, phone, role, state, hash, subject, created
            case emailVerified = "email_verified"
            case phoneVerified = "phone_verified"
            case displayName = "display_name"
            case storeIDs = "store_ids"
            case clientID = "client_id"
            case appleEmail = "apple_email"
        }

        init(_ n: Int, _ user: ImportedUser) {
            self.n = n
            id = user.id
            email = user.email
            emailVerified = user.emailVerified
            phone = user.phone
            phoneVerified = user.phoneVerified
            displayName = user.displayName
            role = user.role
            storeIDs = user.storeIDs
            state = user.state.rawValue
            hash = user.passwordHash
            subject = user.apple?.subject
            clientID = user.apple?.clientId
            appleEmail = user.apple?.email
            created = user.createdAt?.timeIntervalSince1970
        }
    }

    private static let columns = """
        n bigint, id uuid, email text, email_verified boolean, phone text, phone_verified boolean, display_name text,
        role text, store_ids text[], state text, hash text, subject text, client_id text, apple_email text,
        created double precision
        """

    /// The existing records that match each user.
    func found(_ users: [ImportedUser]) async throws -> [ImportDecision.Found] {
        let rows = users.enumerated().map(Row.init)
        return try await database.query(
            """
            SELECT u.id IS NOT NULL AS has_id, e.user_id AS email_owner, p.user_id AS phone_owner,
                a.user_id AS apple_owner,
                EXISTS (SELECT FROM audit_entries WHERE user_id = r.id AND event = \(AuditEvent.deleted.rawValue))
                    OR EXISTS (SELECT FROM audit WHERE user_id = r.id AND event = \(AuditEvent.deleted.rawValue))
                    OR EXISTS (SELECT FROM deleted_users WHERE user_id = r.id) AS was_deleted
            FROM jsonb_to_recordset(\(PostgresJSON(rows))) AS r (\(unescaped: Self.columns))
            LEFT JOIN users u ON u.id = r.id
            LEFT JOIN identifiers e ON e.kind = 'email' AND e.value = r.email
            LEFT JOIN identifiers p ON p.kind = 'phone' AND p.value = r.phone
            LEFT JOIN apple_identities a ON a.subject = r.subject
            ORDER BY r.n
            """
        ).map(ImportDecision.Found.init)
    }

    /// Creates all users or none.
    /// - Returns: `false` when a user has something that another user already has.
    func create(_ users: [ImportedUser]) async throws -> Bool {
        let rows = users.enumerated().map(Row.init)
        do {
            try await database.query(
                """
                WITH r AS MATERIALIZED (
                    SELECT n, id, email, email_verified, phone, phone_verified, display_name, role, store_ids, state, hash,
                        subject, client_id, apple_email, created
                    FROM jsonb_to_recordset(\(PostgresJSON(rows))) AS r (\(unescaped: Self.columns))
                ), made AS (
                    INSERT INTO users (id, display_name, role, store_ids, state, created_at)
                    SELECT id, display_name, role, store_ids, state, coalesce(to_timestamp(created), now())
                    FROM r ORDER BY n
                ), identified AS (
                    INSERT INTO identifiers (kind, value, user_id, verified)
                    SELECT 'email', email, id, email_verified FROM r WHERE email IS NOT NULL
                    UNION ALL SELECT 'phone', phone, id, phone_verified FROM r WHERE phone IS NOT NULL
                ), hashed AS (
                    INSERT INTO passwords (user_id, hash) SELECT id, hash FROM r WHERE hash IS NOT NULL
                ), linked AS (
                    INSERT INTO apple_identities (subject, user_id, client_id, email)
                    SELECT subject, id, client_id, apple_email FROM r WHERE subject IS NOT NULL
                )
                INSERT INTO audit_entries (user_id, actor, actor_id, event, detail)
                SELECT id, 'operator', \(AuditScope.current?.name), \(AuditEvent.registered.rawValue), 'import'
                FROM r ORDER BY n
                """)
            return true
        } catch {
            guard error.sqlState == .uniqueViolation else { throw error }
            return false
        }
    }
}

extension ImportDecision.Found {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            hasID: try row.decode("has_id"), email: try row.decode("email_owner"),
            phone: try row.decode("phone_owner"), apple: try row.decode("apple_owner"),
            wasDeleted: try row.decode("was_deleted"))
    }
}

extension UserTransferStore {
    /// A user's position in the order of creation.
    typealias Position = (createdAt: Date, id: UUID)

    func position(of id: UUID) async throws -> Position? {
        try await database.query("SELECT created_at, id FROM users WHERE id = \(id)").first.map { row in
            let (createdAt, id) = try row.decode((Date, UUID).self)
            return (createdAt, id)
        }
    }

    /// Users in the order of creation, after `last`.
    func page(after last: Position?, limit: Int, withHashes: Bool) async throws -> [UserRecord] {
        try await database.query(
            """
            SELECT u.id, e.value AS email, e.verified AS email_verified, p.value AS phone,
                p.verified AS phone_verified, u.display_name, u.role, u.store_ids, u.state,
                CASE WHEN \(withHashes) THEN w.hash END AS hash, a.subject, a.client_id, a.email AS apple_email,
                u.created_at
            FROM users u \(unescaped: Account.joins)
            WHERE \(last?.id) IS NULL OR (u.created_at, u.id) > (\(last?.createdAt), \(last?.id))
            ORDER BY u.created_at, u.id LIMIT \(limit)
            """
        ).map(UserRecord.init)
    }
}

extension UserRecord {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(id: try row.decode("id"))
        email = try row.decode("email")
        emailVerified = try row.decode("email_verified")
        phone = try row.decode("phone")
        phoneVerified = try row.decode("phone_verified")
        displayName = try row.decode("display_name")
        role = try row.decode("role")
        storeIds = try row.decode("store_ids")
        state = try row.decode("state")
        passwordHash = try row.decode("hash")
        if let subject: String = try row.decode("subject") {
            apple = Apple(
                subject: subject, clientId: try row.decode("client_id"), email: try row.decode("apple_email"))
        }
        createdAt = try row.decode("created_at")
    }
}
