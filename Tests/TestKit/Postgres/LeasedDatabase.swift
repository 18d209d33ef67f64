public import Postgres

/// A test's own database.
public struct LeasedDatabase: Sendable {
    /// For services under test and for further connections.
    public let url: String
    /// A pool on the database, closed with the lease. Its timeouts are long, because other tests use the same machine.
    public let pool: PostgresPool

    /// A connection outside the pool, with the same long timeouts.
    ///
    /// - Throws: ``PostgresError``.
    public func connect() async throws -> PostgresConnection {
        try await .patient(url)
    }
}

extension PostgresPool {
    /// The processes of PostgreSQL that wait for a lock in this database, in a statement with this text.
    public func lockWaiters(running text: String = "") async throws -> [Int32] {
        try await query(
            """
            SELECT pid FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND strpos(query, \(text)) > 0
            """
        ).decode(Int32.self)
    }

    /// Has PostgreSQL cancel the statement with this text, once it waits for a lock.
    public func cancelLockWaiter(running text: String) async throws {
        var waiters: [Int32] = []
        try await eventually("a statement with \(text) waits for a lock") {
            waiters = try await lockWaiters(running: text)
            return waiters.count == 1
        }
        try await query("SELECT pg_cancel_backend(\(waiters[0]))")
    }
}

/// Runs `body` with a database with the given `migrations`, and drops it afterwards.
///
/// The first lease of a set of migrations creates a template. Later leases copy it, which takes about 30 ms. The server
/// is that of `GATEHOUSE_TEST_POSTGRES_URL`; `make test` starts one and sets it.
///
/// - Throws: What `body` throws; ``TestKitError``; ``PostgresError``.
public func withDatabase<Value: Sendable>(
    migrations: PostgresMigrations = .init(), isolation: isolated (any Actor)? = #isolation,
    _ body: (LeasedDatabase) async throws -> Value
) async throws -> Value {
    let databases = try TestDatabases.shared.get()
    let name = try await databases.create(migrations)
    do {
        let url = databases.url(of: name)
        let pool = PostgresPool(configuration: try .patient(url), pool: .patient)
        defer { pool.close() }
        let value = try await body(LeasedDatabase(url: url, pool: pool))
        try await databases.drop(name)
        return value
    } catch {
        try? await databases.drop(name)
        throw error
    }
}
