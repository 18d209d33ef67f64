import Foundation
import GatehouseServiceContracts
import Postgres

/// The accounts at which the requests of ``TimingCase`` aim.
struct TimingAccounts {
    private let active: String
    private let disabled: String
    private let prefix: String

    /// - Parameter runs: how many users there are to be who are sent a code: each once, since asking again takes a
    ///   while.
    init(system: RunningSystem, client: GatewayClient, runs: Int) async throws {
        (active, disabled) = (GatewayClient.newIdentifier(), GatewayClient.newIdentifier())
        prefix = "timing-\(UUID().uuidString.lowercased())"
        _ = try await client.register(identifier: active, password: GatewayClient.password)
        let user = try await client.register(identifier: disabled, password: GatewayClient.password).user.id
        let database = PostgresPool(
            configuration: try PostgresConfiguration(url: system.value("IDENTITY_DATABASE_URL")),
            pool: PostgresPoolConfiguration())
        defer { database.close() }
        try await database.query("UPDATE users SET state = 'disabled' WHERE id = \(user)")
        try await database.query(
            """
            WITH made AS (
                INSERT INTO users (id, role) SELECT gen_random_uuid(), 'user' FROM generate_series(0, \(runs - 1))
                RETURNING id
            )
            INSERT INTO identifiers (kind, value, user_id, verified)
            SELECT 'email', \(prefix) || '-' || row_number() OVER () - 1 || '@example.com', id, true FROM made
            """)
        try await database.query("ANALYZE users, identifiers")
    }

    /// - Parameter run: which of the runs it is, from 0.
    func identifier(for kind: TimingCase, in run: Int) -> String {
        switch kind {
        case .wrongPassword, .knownForgotten: active
        case .disabledAccount: disabled
        case .knownCode: "\(prefix)-\(run)@example.com"
        // As long as the known one.
        case .unknownCode: "timing-\(UUID().uuidString.lowercased())-\(run)@example.com"
        case .unknownUser, .unknownForgotten: GatewayClient.newIdentifier()
        }
    }
}
