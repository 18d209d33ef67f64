package import Foundation
import GatehouseServiceContracts
package import Postgres

/// A credential of a user (table `credentials`).
package struct Credential: Sendable, Equatable {
    var id: UUID
    var name: CredentialName
    /// Whether a user has at most one credential of the name.
    var isSingle: Bool
    var origin: CredentialOrigin
}

/// A credential to be added to a user.
package struct NewCredential: Sendable {
    package let id = UUID()
    var userID: UUID
    package var name: CredentialName
    /// The provider's identifier of the user; `nil` where the kind has none.
    package var subject: String?
    /// An address that the provider told. It stands in for the user's own, and proves nothing.
    var email: String?
    var isSingle: Bool
    /// Whether the credential proves who the user is. A password does not.
    var isVerified: Bool

    package init(
        userID: UUID, name: CredentialName, subject: String? = nil, email: String? = nil, isSingle: Bool,
        isVerified: Bool
    ) {
        self.userID = userID
        self.name = name
        self.subject = subject
        self.email = email
        self.isSingle = isSingle
        self.isVerified = isVerified
    }
}

/// Credentials of all kinds (table `credentials`). Each kind keeps its details in a table of its own, by the
/// credential's id.
package enum CredentialStore {
    /// Adds credentials. The details follow, by kind.
    /// - Returns: whether all were added. `false`: another user has one of them, or the user has another one of a
    ///   single name; some may have been added.
    package static func insert(_ credentials: [NewCredential], on database: some PostgresQuerying) async throws -> Bool
    {
        try await database.query(
            """
            INSERT INTO credentials (id, user_id, kind, provider, subject, email, is_single, verified_at)
            SELECT id, user_id, kind, provider, nullif(subject, ''), nullif(email, ''), is_single,
                CASE WHEN is_verified THEN now() END
            FROM unnest(
                \(credentials.map(\.id)), \(credentials.map(\.userID)), \(credentials.map(\.name.kind.rawValue)),
                \(credentials.map(\.name.provider)), \(credentials.map { $0.subject ?? "" }),
                \(credentials.map { $0.email ?? "" }), \(credentials.map(\.isSingle)),
                \(credentials.map(\.isVerified))
            ) AS new (id, user_id, kind, provider, subject, email, is_single, is_verified)
            ON CONFLICT DO NOTHING
            """
        ).affectedRows == credentials.count
    }

    /// The user's credentials, in the order in which they were added.
    static func all(of userID: UUID, on database: some PostgresQuerying) async throws -> [Credential] {
        try await database.query(
            """
            SELECT id, kind, provider, is_single, created_at, merged_from, merged_at FROM credentials
            WHERE user_id = \(userID) ORDER BY created_at, id
            """
        ).map(Credential.init)
    }

    /// The users who have the credentials; `nil` for a credential that no user has.
    package static func owners(
        of credentials: [(name: CredentialName, subject: String)], on database: some PostgresQuerying
    ) async throws -> [UUID?] {
        try await database.query(
            """
            SELECT user_id
            FROM unnest(
                \(credentials.map(\.name.kind.rawValue)), \(credentials.map(\.name.provider)),
                \(credentials.map(\.subject))
            ) WITH ORDINALITY AS wanted (kind, provider, subject, n)
            LEFT JOIN credentials USING (kind, provider, subject) ORDER BY n
            """
        ).decode(UUID?.self)
    }

    /// Moves a credential to the account that its account is merged into.
    static func move(_ credential: Credential, to userID: UUID, on transaction: PostgresTransaction) async throws {
        try await transaction.query(
            """
            UPDATE credentials SET
                user_id = \(userID), merged_from = coalesce(merged_from, user_id), merged_at = now()
            WHERE id = \(credential.id)
            """)
    }

    /// Removes the row, and with it the details. What the kind keeps elsewhere is removed first
    /// (``CredentialRegistry/remove(_:of:on:)``).
    static func delete(_ credential: Credential, on transaction: PostgresTransaction) async throws {
        try await transaction.query("DELETE FROM credentials WHERE id = \(credential.id)")
    }
}

extension Credential {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            id: try row.decode("id"),
            name: CredentialName(
                CredentialKindID(rawValue: try row.decode("kind")), provider: try row.decode("provider")),
            isSingle: try row.decode("is_single"),
            origin: CredentialOrigin(
                since: try row.decode("created_at"), mergedFrom: try row.decode("merged_from"),
                mergedAt: try row.decode("merged_at")))
    }
}
