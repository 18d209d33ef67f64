import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import NIOHTTP1
import Postgres
import TestKit
import Testing

@testable import IdentityService

/// The real service on a free port, with a database of its own, and stand-ins for the services that it calls.
struct Harness: Sendable {
    let url: URL
    let database: PostgresPool
    let databaseURL: String
    let tokens: FakeTokens
    let devices: FakeDevices
    let apple: SimulatedApple
    /// As in the environment of the service.
    let settings: [String: String]

    static let gatewayCredential = "dev-gateway-identity"

    func send(
        _ method: HTTPMethod, _ path: String, json: String? = nil, headers: [String: String] = [:]
    ) async throws -> TestHTTPClient.Response {
        var headers = headers
        if json != nil, headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
        return try await TestHTTPClient(url, timeout: .seconds(90)).send(
            method.rawValue, path, headers: headers, body: json.map { Data($0.utf8) })
    }

    func post(_ path: String, _ body: some Encodable) async throws -> TestHTTPClient.Response {
        try await send(.POST, path, json: String(decoding: JSON.encode(body), as: UTF8.self))
    }

    /// Sends a request of a user, as the gateway does.
    /// - Parameter age: seconds since the user last authenticated; `nil`: the access token does not tell.
    func send(
        _ method: HTTPMethod, _ path: String, as user: UUID, session: UUID = UUID(), age: Int? = 0,
        role: String = "user", json: String? = nil, headers: [String: String] = [:]
    ) async throws -> TestHTTPClient.Response {
        var headers = headers
        headers[HeaderName.credential] = Self.gatewayCredential
        headers[HeaderName.userID] = user.uuidString.lowercased()
        headers[HeaderName.sessionID] = session.uuidString.lowercased()
        headers[HeaderName.role] = role
        if let age { headers[HeaderName.authenticationTime] = String(Int(Date.now.timeIntervalSince1970) - age) }
        return try await send(method, path, json: json, headers: headers)
    }

    func register(_ identifier: String, _ password: String = "tulpenzwiebel") async throws -> AuthResponse {
        let answer = try await post("/v1/auth/register", RegisterRequest(identifier: identifier, password: password))
        #expect(answer.status == 201)
        return try answer.decode()
    }

    func login(_ identifier: String, _ password: String = "tulpenzwiebel") async throws -> TestHTTPClient.Response {
        try await post("/v1/auth/login", LoginRequest(identifier: identifier, password: password))
    }

    /// Sends a request from the address, as the gateway does.
    func post(_ path: String, _ body: some Encodable, from address: String) async throws -> TestHTTPClient.Response {
        try await send(
            .POST, path, json: String(decoding: JSON.encode(body), as: UTF8.self),
            headers: [HeaderName.credential: Self.gatewayCredential, HeaderName.clientAddress: address])
    }

    func apple(
        _ token: String, nonce: String? = nil, code: String? = nil, name: AppleSignInRequest.FullName? = nil
    ) async throws -> TestHTTPClient.Response {
        try await post(
            "/v1/auth/apple",
            AppleSignInRequest(identityToken: token, authorizationCode: code, nonce: nonce, fullName: name))
    }

    /// Signs in with Apple.
    /// - Parameter email: which Apple vouches for.
    func signIn(_ sub: String, email: String? = nil) async throws -> AuthResponse {
        try await apple(apple.token(sub: sub, email: email)).decode()
    }

    /// What a deletion keeps: who did what, without personal data.
    private static let kept: Set = ["audit_entries", "deleted_users"]

    /// The tables with rows of a user, found by their columns.
    func tables(of user: UUID) async throws -> Set<String> {
        let columns = try await database.query(
            """
            SELECT table_name::text, column_name::text FROM information_schema.columns
            JOIN information_schema.tables USING (table_schema, table_name)
            WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
                AND (column_name IN ('user_id', 'credential_id') OR table_name = 'users' AND column_name = 'id')
            """
        ).decode((String, String).self)
        var tables: Set<String> = []
        for (table, column) in columns where !Self.kept.contains(table) {
            let condition =
                column == "credential_id"
                ? "credential_id NOT IN (SELECT id FROM credentials WHERE user_id <> " : "\(column) IN (SELECT "
            let found = try await database.query(
                """
                SELECT FROM \(unescaped: table) WHERE \(unescaped: condition)\(user)::uuid) LIMIT 1
                """)
            if !found.isEmpty { tables.insert(table) }
        }
        return tables
    }

    var outboxCount: Int {
        get async throws {
            let result = try await database.query("SELECT count(*) FROM outbox")
            return try result[0].decode(Int.self)
        }
    }
}

/// Runs `body` against a service of its own.
///
/// - Parameters:
///   - settings: added to the usual ones, or instead of them.
///   - afterwards: is run when the service has stopped.
func withIdentity(
    _ settings: [String: String] = [:], afterwards: @escaping @Sendable (PostgresPool) async throws -> Void = { _ in },
    _ body: @escaping @Sendable (Harness) async throws -> Void
) async throws {
    let tokens = FakeTokens()
    let devices = FakeDevices()
    let apple = try SimulatedApple()
    let files = try TemporaryFiles()
    defer { files.remove() }
    let key = Data(repeating: 1, count: 32).base64EncodedString()
    let defaults = [
        "IDENTITY_SEALING_KEYS_FILE": try files.write("# development\nk1:\(key)\n"),
        "IDENTITY_PEPPER_KEYS_FILE": try files.write("# development\np1:\(key)\n"),
        "IDENTITY_APPLE_PRIVATE_KEY_FILE": try files.write(TestKeys.clientSecret),
        "IDENTITY_APPLE_TEAM_ID": "TEAM123456", "IDENTITY_APPLE_KEY_ID": "KEY1234567",
    ]
    try await withDatabase(migrations: Migrations.all) { database in
        try await withHTTPServer(tokens.router()) { tokensURL in
            try await withHTTPServer(devices.router()) { devicesURL in
                try await withHTTPServer(apple.router()) { appleURL in
                    var environment = defaults
                    environment["GATEHOUSE_ENVIRONMENT"] = "development"
                    environment["GATEHOUSE_LOG_LEVEL"] = "critical"
                    environment["GATEHOUSE_RATE_LIMITS"] = "off"
                    environment["IDENTITY_DATABASE_URL"] = database.url
                    environment["IDENTITY_REDIS_URL"] = try TestRedis.url
                    environment["IDENTITY_TOKENS_URL"] = tokensURL.absoluteString
                    environment["IDENTITY_TOKENS_CREDENTIAL"] = "dev-identity-tokens"
                    environment["IDENTITY_DEVICES_URL"] = devicesURL.absoluteString
                    environment["IDENTITY_DEVICES_CREDENTIAL"] = "dev-identity-devices"
                    environment["IDENTITY_GATEWAY_CREDENTIALS"] = Harness.gatewayCredential
                    environment["IDENTITY_APPLE_KEYS_URL"] = appleURL.absoluteString + "/auth/keys"
                    environment["IDENTITY_APPLE_TOKEN_URL"] = appleURL.absoluteString + "/auth/token"
                    environment["IDENTITY_APPLE_MIGRATION_URL"] = appleURL.absoluteString + "/auth/usermigrationinfo"
                    environment["IDENTITY_APPLE_REVOKE_URL"] = appleURL.absoluteString + "/auth/revoke"
                    environment.merge(settings) { $1 }
                    let given = environment.filter { !$0.value.isEmpty }
                    try await withService(IdentityApplication.self, settings: given) { service in
                        try await body(
                            Harness(
                                url: service.url, database: database.pool, databaseURL: database.url,
                                tokens: tokens, devices: devices, apple: apple, settings: given))
                    }
                    try await afterwards(database.pool)
                }
            }
        }
    }
}
