import Foundation
import Postgres

/// Users that a benchmark puts into identity's own tables, numbered from 1. Each has an address, a password and an
/// Apple account.
struct UserTable {
    let connection: PostgresConnection

    /// - Parameter url: of identity's database.
    static func open(_ url: String) async throws -> UserTable {
        var configuration = try PostgresConfiguration(url: url)
        configuration.statementTimeout = .seconds(3600)
        return UserTable(connection: try await PostgresConnection.connect(configuration))
    }

    static func identifier(_ number: Int) -> String { "user-\(number)@bench.example" }
    static func subject(_ number: Int) -> String { "bench.\(number)" }

    /// Adds users until there are `count`; `present` are there already.
    /// - Parameter identifier: of the user whose password all of them have.
    func fill(to count: Int, present: Int = 0, passwordOf identifier: String) async throws {
        let numbers = "generate_series(\(present + 1), \(count)) AS number"
        try await connection.execute(
            script: """
                BEGIN;
                SET LOCAL synchronous_commit = off;
                INSERT INTO users (id, display_name)
                SELECT md5('user ' || number)::uuid, 'User ' || number FROM \(numbers);
                INSERT INTO identifiers (kind, value, user_id, verified)
                SELECT 'email', 'user-' || number || '@bench.example', md5('user ' || number)::uuid, true
                FROM \(numbers);
                INSERT INTO credentials (id, user_id, kind, subject, email, is_single, verified_at)
                SELECT md5('apple ' || number)::uuid, md5('user ' || number)::uuid, 'apple', 'bench.' || number,
                    'user-' || number || '@bench.example', true, now()
                FROM \(numbers);
                INSERT INTO apple_identities (credential_id, client_id)
                SELECT md5('apple ' || number)::uuid, 'com.example.app' FROM \(numbers);
                INSERT INTO credentials (id, user_id, kind, is_single)
                SELECT md5('password ' || number)::uuid, md5('user ' || number)::uuid, 'password', true
                FROM \(numbers);
                INSERT INTO passwords (credential_id, hash)
                SELECT md5('password ' || number)::uuid, (
                    SELECT hash FROM passwords JOIN credentials ON id = credential_id JOIN identifiers USING (user_id)
                    WHERE value = '\(identifier)')
                FROM \(numbers);
                COMMIT;
                """, deadline: .now + .seconds(3600))
        for table in ["users", "identifiers", "credentials", "apple_identities", "passwords"] {
            try await connection.execute(script: "VACUUM (ANALYZE) \(table)", deadline: .now + .seconds(3600))
        }
    }
}
