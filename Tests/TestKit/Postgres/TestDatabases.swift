import Crypto
import Foundation
import Postgres

/// The partitions of each table that has a bucket, from `GATEHOUSE_TEST_PARTITIONS`; `nil` for plain tables.
public let testPartitions = ProcessInfo.processInfo.environment["GATEHOUSE_TEST_PARTITIONS"].flatMap(Int.init)

/// Makes and drops the databases of tests, on the server that `make test` has started.
final class TestDatabases: Sendable {
    static let shared = Result { try TestDatabases() }

    private let server: URLComponents
    private let pool: PostgresPool
    private let templates = Templates()

    private init() throws {
        let variable = "GATEHOUSE_TEST_POSTGRES_URL"
        guard let url = ProcessInfo.processInfo.environment[variable], let server = URLComponents(string: url) else {
            throw TestKitError("\(variable) is not set: run the tests with `make test`.")
        }
        self.server = server
        var limits = PostgresPoolConfiguration.patient
        limits.maximumConnections = 4
        limits.queueLimit = 10_000
        pool = PostgresPool(configuration: try .patient(url), pool: limits)
    }

    func url(of database: String) -> String {
        var url = server
        url.path = "/" + database
        return url.string ?? ""
    }

    func create(_ migrations: PostgresMigrations) async throws -> String {
        let digest = Self.digest(of: migrations)
        let template = try await templates.name(for: digest) { try await self.makeTemplate(migrations, digest) }
        let name = "lease_" + UUID().uuidString.lowercased()
        try await administer("CREATE DATABASE \"\(name)\" TEMPLATE \"\(template)\"")
        return name
    }

    func drop(_ name: String) async throws {
        try await administer("DROP DATABASE IF EXISTS \"\(name)\" WITH (FORCE)")
    }

    /// Other processes may create the same template, so it is created under another name and renamed when it is
    /// complete.
    private func makeTemplate(_ migrations: PostgresMigrations, _ digest: String) async throws -> String {
        if migrations == .init() { return "template1" }
        // The same server may have one with plain tables, from a run before.
        let template = "template_\(testPartitions ?? 0)_" + digest
        guard try await !exists(template) else { return template }
        let draft = "draft_" + UUID().uuidString.lowercased()
        try await administer("CREATE DATABASE \"\(draft)\"")
        do {
            let connection = try await PostgresConnection.patient(url(of: draft))
            let migrator = PostgresMigrator(migrations: migrations, logger: .quiet)
            try await migrator.up(on: connection)
            if let partitions = testPartitions { try await migrator.partition(into: partitions, on: connection) }
            await connection.close()
            try await administer("ALTER DATABASE \"\(draft)\" RENAME TO \"\(template)\"")
        } catch {
            try await drop(draft)
            // Another process was faster.
            guard (error as? PostgresError)?.sqlState == "42P04" else { throw error }
        }
        return template
    }

    private func exists(_ database: String) async throws -> Bool {
        let rows = try await pool.query(
            "SELECT EXISTS (SELECT FROM pg_database WHERE datname = \(database))", deadline: .now + .seconds(60))
        return try rows[0].decode(Bool.self)
    }

    private func administer(_ statement: String) async throws {
        try await pool.withConnection(deadline: .now + .seconds(60)) { connection in
            try await connection.execute(script: statement, deadline: .now + .seconds(60))
        }
    }

    private static func digest(of migrations: PostgresMigrations) -> String {
        var hash = SHA256()
        for step in migrations.steps {
            hash.update(data: Array("\(step.number) \(step.name) \(step.up.count) \(step.indexes.count)\n".utf8))
            hash.update(data: step.up + step.indexes)
        }
        for file in migrations.files {
            hash.update(data: Array("\(file.name) \(file.script.count)\n".utf8))
            hash.update(data: file.script)
        }
        return hash.finalize().prefix(16).map { String(format: "%02x", $0) }.joined()
    }
}

/// Creates each template once, even if several tests need it at the same time.
private actor Templates {
    private var names: [String: Task<String, any Error>] = [:]

    func name(for digest: String, make: @escaping @Sendable () async throws -> String) async throws -> String {
        let task = names[digest] ?? Task { try await make() }
        names[digest] = task
        return try await task.value
    }
}
