public import Postgres

/// A database of its own for one test.
public struct LeasedDatabase: Sendable {
    /// For services under test and for further connections.
    public let url: String
    /// A pool on the database, closed with the lease. Patient, since other tests take their share of the machine.
    public let pool: PostgresPool

    /// A connection that is not the pool's, as patient as the pool.
    ///
    /// - Throws: ``PostgresError``.
    public func connect() async throws -> PostgresConnection {
        try await .patient(url)
    }
}

/// Runs `body` with a database that holds what `migrations` make, and drops it afterwards.
///
/// The first lease of a set of migrations makes a template; the others are copies of that, which cost some 30 ms.
/// The server is that of `GATEHOUSE_TEST_POSTGRES_URL`; `make test` starts one and sets it.
///
/// - Throws: What `body` throws; ``TestKitError``; ``PostgresError``.
public func withDatabase<Value: Sendable>(
    migrations: [PostgresMigration] = [], isolation: isolated (any Actor)? = #isolation,
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
