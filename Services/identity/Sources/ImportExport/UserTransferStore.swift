import Foundation
import GatehouseServiceContracts
import IdentityCore
import Postgres

/// Creates and reads many users with few statements.
struct UserTransferStore: Sendable {
    let database: PostgresPool
    let registry: CredentialRegistry

    /// A row of the statement below.
    private struct Row: Codable, Sendable {
        var n: Int
        var id: UUID
        var email: String?
        var phone: String?
    }

    /// The existing records that match each user.
    func found(_ users: [ImportedUser]) async throws -> [ImportDecision.Found] {
        let rows = users.enumerated().map { Row(n: $0, id: $1.id, email: $1.email, phone: $1.phone) }
        var found = try await database.query(
            """
            SELECT u.id IS NOT NULL AS has_id, e.user_id AS email_owner, p.user_id AS phone_owner,
                EXISTS (SELECT FROM audit_entries WHERE user_id = r.id AND event = \(AuditEvent.deleted.rawValue))
                    OR EXISTS (SELECT FROM deleted_users WHERE user_id = r.id) AS was_deleted
            FROM jsonb_to_recordset(\(PostgresJSON(rows))) AS r (n bigint, id uuid, email text, phone text)
            LEFT JOIN users u ON u.id = r.id
            LEFT JOIN identifiers e ON e.kind = 'email' AND e.value = r.email
            LEFT JOIN identifiers p ON p.kind = 'phone' AND p.value = r.phone
            ORDER BY r.n
            """
        ).map(ImportDecision.Found.init)
        let subjects = users.enumerated().flatMap { n, user in user.subjects.map { (n: n, subject: $0) } }
        let owners = try await CredentialStore.owners(of: subjects.map(\.subject), on: database)
        for (subject, owner) in zip(subjects, owners) {
            guard let owner else { continue }
            found[subject.n].credentials.append((subject.subject.name.authProvider.rawValue, owner))
        }
        return found
    }

    /// Creates all users or none.
    /// - Returns: `false` when a user has something that another user already has.
    func create(_ users: [ImportedUser]) async throws -> Bool {
        struct Taken: Error {}
        do {
            try await database.withRetriedTransaction { transaction in
                try await AccountStore.create(users.map(NewUser.init), on: transaction)
                try await IdentifierStore.insert(users.flatMap(\.identifiers), on: transaction)
                let credentials = users.flatMap(\.credentials)
                guard try await CredentialStore.insert(credentials.map(\.credential), on: transaction) else {
                    throw Taken()
                }
                for kind in registry.kinds {
                    let own = credentials.filter { $0.credential.name.kind == type(of: kind).id }
                    if !own.isEmpty { try await kind.addDetails(of: own, on: transaction) }
                }
                try await Self.record(users.map(\.id), on: transaction)
            }
            return true
        } catch is Taken {
            return false
        } catch let error as PostgresError where error.sqlState == .uniqueViolation {
            return false
        }
    }
}

extension UserTransferStore {
    /// Adds the entries of the audit log, in the order of the users.
    private static func record(_ users: [UUID], on transaction: PostgresTransaction) async throws {
        try await transaction.query(
            """
            INSERT INTO audit_entries (user_id, actor, actor_id, event, detail)
            SELECT id, 'operator', \(AuditScope.current?.name), \(AuditEvent.registered.rawValue), 'import'
            FROM unnest(\(users)) WITH ORDINALITY AS imported (id, n) ORDER BY n
            """)
    }
}

extension NewUser {
    fileprivate init(_ user: ImportedUser) {
        self.init(
            id: user.id, displayName: user.displayName, role: user.role, storeIDs: user.storeIDs, state: user.state,
            createdAt: user.createdAt?.timeIntervalSince1970)
    }
}

extension ImportedUser {
    fileprivate var identifiers: [NewIdentifier] {
        [
            email.map { NewIdentifier(kind: .email, value: $0, userID: id, isVerified: emailVerified) },
            phone.map { NewIdentifier(kind: .phone, value: $0, userID: id, isVerified: phoneVerified) },
        ].compactMap(\.self)
    }
}

extension ImportDecision.Found {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            hasID: try row.decode("has_id"), email: try row.decode("email_owner"),
            phone: try row.decode("phone_owner"), wasDeleted: try row.decode("was_deleted"))
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
        var records = try await database.query(
            """
            SELECT u.id, e.value AS email, e.verified AS email_verified, p.value AS phone,
                p.verified AS phone_verified, u.display_name, u.role, u.store_ids, u.state, u.created_at
            FROM users u
            LEFT JOIN identifiers e ON e.user_id = u.id AND e.kind = 'email'
            LEFT JOIN identifiers p ON p.user_id = u.id AND p.kind = 'phone'
            WHERE \(last?.id) IS NULL OR (u.created_at, u.id) > (\(last?.createdAt), \(last?.id))
            ORDER BY u.created_at, u.id LIMIT \(limit)
            """
        ).map(UserRecord.init)
        for kind in registry.kinds { try await kind.export(&records, withSecrets: withHashes) }
        return records
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
        createdAt = try row.decode("created_at")
    }
}
