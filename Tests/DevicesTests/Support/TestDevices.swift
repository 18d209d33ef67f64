import Foundation
import GatehouseServiceContracts
import Synchronization
import TestKit

@testable import DevicesService

/// A user as the gateway forwards one.
struct SignedIn: Sendable {
    var id: UUID
    var session: UUID

    init(id: UUID = UUID()) {
        self.id = id
        session = .session(of: id)
    }

    var headers: [String: String] {
        [
            HeaderName.credential: "dev-gateway-devices", HeaderName.userID: id.uuidString.lowercased(),
            HeaderName.sessionID: session.uuidString.lowercased(), HeaderName.role: "courier",
        ]
    }
}

/// The running service, with what a test does to it.
struct TestDevices: Sendable {
    let client: TestHTTPClient
    let tokens: FakeTokens

    init(url: URL, tokens: FakeTokens) {
        client = TestHTTPClient(url)
        self.tokens = tokens
    }

    static func settings(database: String, tokens: URL, keys: TemporaryFiles) throws -> [String: String] {
        [
            "DEVICES_DATABASE_URL": database,
            "DEVICES_TOKENS_URL": tokens.absoluteString,
            "DEVICES_TOKENS_CREDENTIAL": "dev-devices-tokens",
            "DEVICES_GATEWAY_CREDENTIALS": "dev-gateway-devices",
            "DEVICES_IDENTITY_CREDENTIALS": "dev-identity-devices",
            "DEVICES_TOKEN_KEYS_FILE": try keys.write(TestRegistry.keyLine("1")),
            "DEVICES_TOKEN_HASH_KEY_FILE": try keys.write(TestRegistry.keyLine("hash")),
        ]
    }

    func register(token: String, as user: SignedIn) async throws -> TestHTTPClient.Response {
        let registration = Registration(token: token, environment: .sandbox, bundleId: "com.example.app")
        return try await client.post("/v1/devices/register", json: registration, headers: user.headers)
    }

    func list(_ user: SignedIn) async throws -> [Device] {
        try await client.get("/v1/devices", headers: user.headers).decode(DeviceList.self).devices
    }
}

/// What the service runs with.
struct DevicesDependencies: Sendable {
    let database: LeasedDatabase
    let tokens: FakeTokens
    let settings: [String: String]
}

/// Runs `body` with a database and a feed of its own.
///
/// - Parameter callers: the file of the services that push.
func withDevicesDependencies(
    callers: String? = nil, _ body: (DevicesDependencies) async throws -> Void
) async throws {
    let tokens = FakeTokens()
    let files = try TemporaryFiles()
    defer { files.remove() }
    try await withHTTPServer(tokens.router()) { tokensURL in
        try await withDatabase(migrations: Migrations.all) { database in
            var settings = try TestDevices.settings(database: database.url, tokens: tokensURL, keys: files)
            settings["DEVICES_PUSH_CALLERS_FILE"] = try callers.map(files.write)
            try await body(DevicesDependencies(database: database, tokens: tokens, settings: settings))
        }
    }
}

/// Runs the service with a database and a feed of its own.
func withDevices(_ body: @Sendable (TestDevices) async throws -> Void) async throws {
    try await withDevicesDependencies { dependencies in
        try await withService(DevicesApplication.self, settings: dependencies.settings) { service in
            try await body(TestDevices(url: service.url, tokens: dependencies.tokens))
        }
    }
}

extension FakeTokens {
    func end(_ session: UUID) { state.withLock { $0.feed.end(session, of: UUID()) } }

    /// The cursors that the service has sent.
    var cursors: [String?] { state.withLock { $0.feed.cursors } }
}
