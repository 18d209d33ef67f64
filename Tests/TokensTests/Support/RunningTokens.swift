import Foundation
import GatehouseAccessTokens
import GatehouseServiceContracts
import GatehouseServiceKit
import Postgres
import TestKit

@testable import TokensService

/// The real application on a database of its own, in one or several replicas, as its callers see it.
struct RunningTokens: Sendable {
    let databaseURL: String
    let pool: PostgresPool
    let replicas: [RunningService]

    var client: TestHTTPClient { TestHTTPClient(replicas[0].url) }

    static func with(
        replicas: Int = 1, settings: [String: String] = [:], _ body: @Sendable (RunningTokens) async throws -> Void
    ) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            try await start(replicas, on: database.url, database.pool, settings: settings, body)
        }
    }

    /// On an empty database of another server than the tests', which may fail: the service is no more patient than in
    /// production.
    static func with(
        databaseURL: String, settings: [String: String] = [:], _ body: @Sendable (RunningTokens) async throws -> Void
    ) async throws {
        let connection = try await PostgresConnection.patient(databaseURL)
        try await PostgresMigrator(migrations: Migrations.all, logger: .quiet).up(on: connection)
        await connection.close()
        let pool = PostgresPool(configuration: try .patient(databaseURL), pool: .patient)
        defer { pool.close() }
        try await start(
            1, on: databaseURL, pool, settings: ["GATEHOUSE_PATIENCE_MS": "1500"].merging(settings) { $1 }, body)
    }

    private static func start(
        _ replicas: Int, on databaseURL: String, _ pool: PostgresPool, settings: [String: String],
        _ body: @Sendable (RunningTokens) async throws -> Void
    ) async throws {
        let files = try TemporaryFiles()
        defer { files.remove() }
        let defaults = [
            // All tests that run at once share the server's connections.
            "TOKENS_DATABASE_URL": databaseURL, "TOKENS_DATABASE_MAXIMUM_CONNECTIONS": "4",
            "TOKENS_REDIS_URL": try TestRedis.url,
            "TOKENS_SIGNING_KEY_FILE": try files.write(TokensFixture.signingKey.pem),
            "TOKENS_REFRESH_KEYS_FILE": try files.write(RefreshKeyRing.sampleFile()),
            "TOKENS_GATEWAY_CREDENTIALS": "gateway-secret,gateway-secret-2",
            "TOKENS_IDENTITY_CREDENTIALS": "identity-secret", "TOKENS_DEVICES_CREDENTIALS": "devices-secret",
        ]
        try await start(replicas, defaults.merging(settings) { $1 }, []) { services in
            try await body(RunningTokens(databaseURL: databaseURL, pool: pool, replicas: services))
        }
    }

    private static func start(
        _ count: Int, _ settings: [String: String], _ running: [RunningService],
        _ body: @Sendable ([RunningService]) async throws -> Void
    ) async throws {
        if running.count == count { return try await body(running) }
        try await withService(TokensApplication.self, settings: settings) { service in
            try await start(count, settings, running + [service], body)
        }
    }

    // MARK: - What callers do

    static let identity = [HeaderName.credential: "identity-secret"]
    static let devices = [HeaderName.credential: "devices-secret"]

    /// What the gateway forwards for a signed-in user.
    static func gateway(_ user: UUID, session: UUID) -> [String: String] {
        [
            HeaderName.credential: "gateway-secret", HeaderName.userID: user.uuidString,
            HeaderName.sessionID: session.uuidString, HeaderName.role: "courier",
        ]
    }

    struct SignedIn: Sendable {
        var sessionID: UUID
        var auth: AuthResponse
    }

    func signIn(_ user: User = .sample(), device: SessionDevice? = nil) async throws -> SignedIn {
        let id = UUID.session(of: user.id)
        let answer = try await createSession(id, user, device: device)
        guard answer.status == 200 else { throw TestKitError("sign-in: \(answer.status) \(answer.text)") }
        return SignedIn(sessionID: id, auth: try answer.decode(AuthResponse.self))
    }

    /// - Parameter age: seconds since the sign-in began.
    func createSession(
        _ id: UUID? = nil, _ user: User, version: Int64 = 1, credentialsVersion: Int64 = 1, age: Double = 0,
        device: SessionDevice? = nil
    ) async throws -> TestHTTPClient.Response {
        try await client.post(
            "/internal/sessions",
            json: CreateSessionRequest(
                sessionID: id ?? .session(of: user.id), snapshot: UserSnapshot(user: user, version: version),
                credentialsVersion: credentialsVersion, signInAge: age, device: device, ipAddress: "192.0.2.7",
                authenticationMethods: [.password]),
            headers: Self.identity)
    }

    func refresh(_ token: String, replica: Int = 0) async throws -> TestHTTPClient.Response {
        try await TestHTTPClient(replicas[replica].url).post(
            "/v1/auth/refresh", json: RefreshRequest(refreshToken: token))
    }

    /// Moves time by moving every session into the past.
    func age(by seconds: Double) async throws {
        try await pool.query(
            """
            UPDATE sessions SET rotated_at = rotated_at - \(seconds) * interval '1 second',
                expires_at = expires_at - \(seconds) * interval '1 second', expiry_day = '-infinity'
            """)
    }

    func count(_ table: String) async throws -> Int {
        try await pool.query("SELECT count(*) FROM \(unescaped: table)")[0].decode(Int.self)
    }
}
