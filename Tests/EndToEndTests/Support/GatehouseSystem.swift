import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

/// A whole Gatehouse of its own: the built programs, a PostgreSQL and a Redis that a test may kill.
final class GatehouseSystem: Sendable {
    let postgres: PostgresServer
    let redis: RedisServer
    let mail: MailSender
    /// What identity would have sent to users.
    let messages: MessageFiles
    /// Each service's database, as its own role sees it.
    let databases: [String: String]
    /// Each process that serves tokens, asked directly.
    var tokensReplicas: [TestHTTPClient] {
        processes.values.filter { $0.program == "tokens" }.map { TestHTTPClient($0.url) }
    }
    /// The environment that every process was started with.
    let settings: [String: String]
    private let processes: [String: ServiceProcess]
    private let folder: URL

    /// Where the keys that sign access tokens stand.
    var signingKeyFile: String { settings["TOKENS_SIGNING_KEY_FILE"] ?? "" }

    var gateway: TestHTTPClient { TestHTTPClient(process("gateway").url) }
    var apple: TestHTTPClient { TestHTTPClient(process("apple-simulator").url) }
    var journey: Journey { journey(through: process("gateway")) }

    func journey(through gateway: ServiceProcess) -> Journey {
        Journey(api: TestHTTPClient(gateway.url), apple: apple)
    }

    /// Gatehouse's own processes, without what stands in for others.
    var services: [ServiceProcess] { processes.values.filter { $0.program != "apple-simulator" } }

    func process(_ name: String) -> ServiceProcess {
        guard let process = processes[name] else { preconditionFailure("there is no process \(name)") }
        return process
    }

    /// Runs `body` on a connection to a service's database, as the service's role.
    @discardableResult
    func withDatabase<Value: Sendable>(
        of service: String, _ body: (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        let connection = try await PostgresConnection.patient(databases[service] ?? "")
        let value = try await body(connection)
        await connection.close()
        return value
    }

    /// Moves the last rotation of a user's session into the past, as if the time had gone by.
    func age(_ session: AuthResponse, by seconds: Int) async throws {
        try await withDatabase(of: "tokens") { database in
            try await database.query(
                """
                UPDATE sessions SET rotated_at = rotated_at - make_interval(secs => \(Double(seconds)))
                WHERE user_id = \(session.user.id)
                """)
        }
    }

    /// Moves the last authentication of a user's sessions into the past, as if the time had gone by.
    ///
    /// - Returns: the session, refreshed, so that its access token tells of the old authentication.
    func ageAuthentication(of session: AuthResponse, by seconds: Int = 86_400) async throws -> AuthResponse {
        try await withDatabase(of: "tokens") { database in
            try await database.query(
                """
                UPDATE sessions SET authenticated_at = authenticated_at - make_interval(secs => \(Double(seconds)))
                WHERE user_id = \(session.user.id)
                """)
        }
        return try await journey.refresh(session.refreshToken).decode(AuthResponse.self)
    }

    /// Runs `body` with a further gateway in front of the system, which `body` starts.
    ///
    /// - Parameter settings: environment variables that it does not share with the others.
    func withGateway(
        settings: [String: String] = [:], _ body: (ServiceProcess) async throws -> Void
    ) async throws {
        try await withReplica(of: "gateway", settings: settings, body)
    }

    /// Runs `body` with a further process of a service, which `body` starts.
    ///
    /// - Parameters:
    ///   - settings: environment variables that it does not share with the others.
    ///   - openFiles: how many the system allows it; `nil`: as many as this process.
    func withReplica(
        of program: String, settings: [String: String] = [:], openFiles: Int? = nil,
        _ body: (ServiceProcess) async throws -> Void
    ) async throws {
        let port = try freePort()
        let replica = ServiceProcess(
            name: "\(program)-\(port)", program: program, port: port, adminPort: try freePort(),
            environment: self.settings.merging(settings) { _, own in own }, folder: folder, openFiles: openFiles)
        do {
            try await body(replica)
        } catch {
            await replica.stop()
            throw error
        }
        await replica.stop()
    }

    static let databaseServices = ["identity", "tokens", "devices"]

    /// Runs `body` with a system of its own, which is gone afterwards. The suite holds a permit for it:
    /// ``Testing/Trait/systemPermit``.
    ///
    /// - Parameters:
    ///   - ports: which processes there are, and where they listen.
    ///   - settings: environment variables beside the system's own.
    static func run(
        ports: SystemPorts, settings: [String: String], _ body: @Sendable (GatehouseSystem) async throws -> Void
    ) async throws {
        try await withPostgresServer { postgres in
            try await withRedisServer { redis in
                try await MailSender.run { mail, resetHook in
                    let system = try await GatehouseSystem(
                        postgres: postgres, redis: redis, mail: mail, resetHook: resetHook, ports: ports,
                        settings: settings)
                    do {
                        try await system.start()
                        try await body(system)
                    } catch {
                        await system.stop()
                        throw error
                    }
                    await system.stop()
                }
            }
        }
    }

    private init(
        postgres: PostgresServer, redis: RedisServer, mail: MailSender, resetHook: URL, ports: SystemPorts,
        settings: [String: String]
    ) async throws {
        self.postgres = postgres
        self.redis = redis
        self.mail = mail
        folder = FileManager.default.temporaryDirectory.appending(path: "gatehouse-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        messages = MessageFiles(folder: folder.appending(path: "messages"))
        databases = try await Self.makeDatabases(on: postgres)
        var environment = try await SystemSettings.make(
            databases: databases, redisURL: redis.url, ports: ports, keys: folder)
        environment["IDENTITY_RESET_HOOK_URL"] = resetHook.absoluteString
        environment["IDENTITY_RESET_HOOK_SECRET"] = mail.secret
        environment["IDENTITY_MESSAGE_FOLDER"] = messages.folder.path()
        environment.merge(settings) { _, given in given }
        self.settings = environment
        var processes: [String: ServiceProcess] = [:]
        for place in ports.places {
            processes[place.name] = ServiceProcess(
                name: place.name, program: place.program, port: place.port, adminPort: place.adminPort,
                environment: environment, folder: folder)
        }
        self.processes = processes
    }

    private func start() async throws {
        let partitions = testPartitions.map { ["--partitions", "\($0)"] } ?? []
        for service in Self.databaseServices { try await process(service).run(["migrate", "up"] + partitions) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for process in processes.values { group.addTask { try await process.start() } }
            try await group.waitForAll()
        }
    }

    private func stop() async {
        await withTaskGroup(of: Void.self) { group in
            for process in processes.values { group.addTask { await process.stop() } }
        }
        try? FileManager.default.removeItem(at: folder)
    }

    /// A role and a database for each service; no role may enter another's.
    private static func makeDatabases(on server: PostgresServer) async throws -> [String: String] {
        let connection = try await PostgresConnection.patient(server.url())
        var databases: [String: String] = [:]
        for service in databaseServices {
            try await connection.query(
                "CREATE ROLE \(unescaped: service) LOGIN CONNECTION LIMIT 150 PASSWORD 'dev-\(unescaped: service)'")
            try await connection.query("CREATE DATABASE \(unescaped: service) OWNER \(unescaped: service)")
            try await connection.query("REVOKE CONNECT ON DATABASE \(unescaped: service) FROM PUBLIC")
            databases[service] = "postgres://\(service):dev-\(service)@127.0.0.1:\(server.port)/\(service)"
        }
        await connection.close()
        return databases
    }
}
