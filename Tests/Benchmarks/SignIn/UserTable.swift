import Foundation
import Postgres

/// Users that a benchmark puts into identity's own tables, numbered from 1. Each has an address, a password and an Apple
/// account.
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
                INSERT INTO apple_identities (subject, user_id, client_id, email)
                SELECT 'bench.' || number, md5('user ' || number)::uuid, 'com.example.app',
                    'user-' || number || '@bench.example'
                FROM \(numbers);
                INSERT INTO passwords (user_id, hash)
                SELECT md5('user ' || number)::uuid, (
                    SELECT hash FROM passwords JOIN identifiers USING (user_id) WHERE value = '\(identifier)')
                FROM \(numbers);
                COMMIT;
                """, deadline: .now + .seconds(3600))
        for table in ["users", "identifiers", "apple_identities", "passwords"] {
            try await connection.execute(script: "VACUUM (ANALYZE) \(table)", deadline: .now + .seconds(3600))
        }
    }
}
