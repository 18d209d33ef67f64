import Foundation
import GatehouseServiceContracts
import Postgres
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// The real application on a free port, with PostgreSQL and a feed.
@Suite struct DevicesApplicationTests {
    let ada = SignedIn()
    let bob = SignedIn()

    @Test func aDeviceIsRegisteredListedAndRemoved() async throws {
        try await withDevices { devices in
            let registration = Registration(
                token: "00AAbb", environment: .sandbox, bundleId: "com.example.app", installationId: "phone",
                locale: "en-GB", timeZone: "Europe/Berlin", appVersion: "1.0")
            let response = try await devices.client.post(
                "/v1/devices/register", json: registration, headers: ada.headers)
            #expect(response.status == 200)
            #expect(!response.text.lowercased().contains("00aabb"))
            #expect(!response.text.contains("token"))
            let device = try response.decode(Device.self)
            #expect(device.kind == .alert)
            #expect(device.status == .active)
            #expect(device.timeZone == "Europe/Berlin")

            let list = try await devices.client.get("/api/v1/devices", headers: ada.headers)
            #expect(try list.decode(DeviceList.self) == DeviceList(devices: [device]))
            #expect(try await devices.list(bob) == [])

            let path = "/v1/devices/\(device.id)"
            #expect(try await devices.client.delete(path, headers: bob.headers).status == 404)
            #expect(try await devices.client.delete(path, headers: ada.headers).status == 204)
            let again = try await devices.client.delete(path, headers: ada.headers)
            #expect(again.status == 404)
            #expect(try again.problem().code == "NOT_FOUND")
            #expect(try await devices.client.delete("/v1/devices/none", headers: ada.headers).status == 404)
        }
    }

    /// A device with a new iOS is not kept from messages by an older time zone database here.
    @Test func anUnreadableLocaleOrTimeZoneIsLeftOut() async throws {
        try await withDevices { devices in
            let registration = Registration(
                token: "aa", environment: .sandbox, bundleId: "com.example.app", locale: "en US", timeZone: "GMT+3",
                model: "iPhone")
            let response = try await devices.client.post(
                "/v1/devices/register", json: registration, headers: ada.headers)
            #expect(response.status == 200, "\(response.text)")
            let device = try response.decode(Device.self)
            #expect(device.locale == nil && device.timeZone == nil)
            #expect(try await devices.list(ada) == [device])
        }
    }

    @Test func aSessionOfAnotherUserIsRefused() async throws {
        try await withDevices { devices in
            var mixed = ada
            repeat { mixed.session = .session(of: UUID()) } while Bucket(session: mixed.session) == Bucket(user: ada.id)
            let response = try await devices.register(token: "aa", as: mixed)
            #expect(response.status == 401)
            #expect(try response.problem().code == "INVALID_TOKEN")
        }
    }

    @Test func twoUsersRegisterOneTokenAtOnce() async throws {
        try await withDevices { devices in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for index in 0..<40 {
                    let user = index % 2 == 0 ? ada : bob
                    group.addTask { try await devices.register(token: "aabb", as: user).status }
                }
                for try await status in group { #expect(status == 200) }
            }
            let owners = try await devices.list(ada).count + devices.list(bob).count
            #expect(owners == 1)
            _ = try await devices.register(token: "AABB", as: ada)
            #expect(try await devices.list(ada).count == 1)
            #expect(try await devices.list(bob) == [])
        }
    }

    @Test func onlyTheGatewayTellsWhoTheUserIs() async throws {
        try await withDevices { devices in
            for credential in [nil, "", "wrong", "dev-identity-devices", "dev-gateway-device"] {
                var headers = ada.headers
                headers[HeaderName.credential] = credential
                for (method, path) in [
                    ("POST", "/v1/devices/register"), ("GET", "/v1/devices"), ("DELETE", "/v1/devices/\(UUID())"),
                ] {
                    let response = try await devices.client.send(method, path, headers: headers)
                    #expect(response.status == 401)
                    #expect(try response.problem().code == "INVALID_TOKEN")
                }
            }
        }
    }

    @Test func badInputIsToldFieldByField() async throws {
        let good = #""token":"aa","environment":"sandbox","bundleId":"com.example.app""#
        let cases: [(body: String, field: String?)] = [
            ("", nil), ("{", nil), ("[]", nil), ("{}", nil), (#""text""#, nil), ("{\(good)}}", nil),
            ("{\(good),}", nil), ("{\(good),\"token\":\"bb\"}", nil), ("{\(good),\"t\\u006fken\":\"bb\"}", nil),
            (#"{"environment":"sandbox","bundleId":"a"}"#, "token"), (#"{"token":"aa","bundleId":"a"}"#, "environment"),
            (#"{"token":"aa","environment":"sandbox"}"#, "bundleId"),
            (#"{"token":1,"environment":"sandbox","bundleId":"a"}"#, "token"),
            (#"{"token":"abc","environment":"sandbox","bundleId":"a"}"#, "token"),
            (#"{"token":"xx","environment":"sandbox","bundleId":"a"}"#, "token"),
            (#"{"token":"aa","environment":"moon","bundleId":"a"}"#, "environment"),
            (#"{"token":"aa","environment":"sandbox","bundleId":"a b"}"#, "bundleId"),
            ("{\(good),\"kind\":\"fax\"}", "kind"), ("{\(good),\"kind\":1}", "kind"),
            ("{\(good),\"alertsAllowed\":1}", "alertsAllowed"),
            ("{\(good),\"timeZone\":1}", "timeZone"), ("{\(good),\"locale\":{}}", "locale"),
            ("{\(good),\"installationId\":[]}", "installationId"), ("{\(good),\"model\":\"\\u0000\"}", nil),
        ]
        try await withDevices { devices in
            for (body, field) in cases {
                let response = try await devices.client.send(
                    "POST", "/v1/devices/register",
                    headers: ada.headers.merging(["Content-Type": "application/json"]) { $1 }, body: Data(body.utf8))
                #expect(response.status == 400, "\(body)")
                let problem = try response.problem()
                #expect(problem.code == "INVALID_REQUEST")
                if let field { #expect(problem.errors?.map(\.field) == [field], "\(body)") }
            }
            #expect(try await devices.list(ada) == [])
        }
    }

    @Test func otherWaysToGetARequestWrong() async throws {
        try await withDevices { devices in
            let text = ada.headers.merging(["Content-Type": "text/plain"]) { $1 }
            let json = ada.headers.merging(["Content-Type": "application/json"]) { $1 }
            let large = Data(#"{"token":"\#(String(repeating: "a", count: 70_000))"}"#.utf8)
            for (method, path, headers, body, status) in [
                ("POST", "/v1/devices/register", text, Data("{}".utf8), 415),
                ("POST", "/v1/devices/register", json, large, 413),
                ("PUT", "/v1/devices/register", json, Data("{}".utf8), 405),
                ("POST", "/v1/devices", json, Data("{}".utf8), 405),
                ("GET", "/v1/devices/register/now", json, nil, 404), ("GET", "/v2/devices", json, nil, 404),
            ] {
                let response = try await devices.client.send(method, path, headers: headers, body: body)
                #expect(response.status == status, "\(method) \(path)")
            }
        }
    }

    @Test func identityErasesAndExports() async throws {
        try await withDevices { devices in
            _ = try await devices.register(token: "abcdef", as: ada)
            let path = "/internal/users/\(ada.id)"
            for headers in [ada.headers, [:]] {
                #expect(try await devices.client.delete(path, headers: headers).status == 403)
                #expect(try await devices.client.get(path + "/devices", headers: headers).status == 403)
            }
            let identity = [HeaderName.credential: "dev-identity-devices"]
            let export = try await devices.client.get(path + "/devices", headers: identity)
            #expect(export.status == 200)
            #expect(!export.text.contains("abcdef"))
            #expect(try export.decode(DeviceExport.self).devices.map(\.sessionId) == [ada.session])
            for _ in 0..<2 { #expect(try await devices.client.delete(path, headers: identity).status == 204) }
            #expect(try await devices.list(ada) == [])
        }
    }

    // MARK: - Revocations

    @Test func aRevokedSessionsDevicesAreDetachedAndMayNotComeBack() async throws {
        try await withDevices { devices in
            _ = try await devices.register(token: "aa", as: ada)
            let elsewhere = SignedIn(id: ada.id)
            _ = try await devices.register(token: "bb", as: elsewhere)
            devices.tokens.end(ada.session)
            try await eventually("the device is detached") { try await devices.list(ada).count == 1 }
            let late = try await devices.register(token: "aa", as: ada)
            #expect(late.status == 401)
            #expect(try late.problem().code == "INVALID_TOKEN")
            #expect(try await devices.register(token: "cc", as: elsewhere).status == 200)
        }
    }

    @Test func whatWasRevokedWhileTheServiceWasDownIsCaughtUp() async throws {
        try await withDevicesDependencies { dependencies in
            let tokens = dependencies.tokens
            let other = UUID()
            try await withService(DevicesApplication.self, settings: dependencies.settings) { service in
                let devices = TestDevices(url: service.url, tokens: tokens)
                _ = try await devices.register(token: "aa", as: ada)
                tokens.end(other)
                try await eventually("the feed is followed") { tokens.cursors.last == "1.1" }
            }
            tokens.end(ada.session)
            let before = tokens.cursors.count
            try await withService(DevicesApplication.self, settings: dependencies.settings) { service in
                let devices = TestDevices(url: service.url, tokens: tokens)
                try await eventually("the device is detached") { try await devices.list(ada).isEmpty }
                #expect(tokens.cursors[before] == "1.1")
            }
        }
    }

    /// The service stops at once, and so before the writer's next statement is due.
    @Test func whenADeviceWasSeenIsWrittenBeforeTheServiceStops() async throws {
        try await withDevicesDependencies { dependencies in
            try await withService(DevicesApplication.self, settings: dependencies.settings) { service in
                let devices = TestDevices(url: service.url, tokens: dependencies.tokens)
                for _ in 0..<2 {
                    let answer = try await devices.register(token: "aa", as: ada)
                    #expect(answer.status == 200)
                }
            }
            let isWritten = try await dependencies.database.pool.query("SELECT last_seen_at > created_at FROM devices")
            #expect(try isWritten.decode(Bool.self) == [true])
        }
    }

    @Test func aFeedThatWasLostIsReadFromTheStart() async throws {
        try await withDevices { devices in
            devices.tokens.end(UUID())
            try await eventually("the feed is followed") { devices.tokens.cursors.last == "1.1" }
            _ = try await devices.register(token: "aa", as: ada)
            devices.tokens.state.withLock { $0.feed.generation += 1 }
            devices.tokens.end(ada.session)
            try await eventually("the device is detached") { try await devices.list(ada).isEmpty }
            try await eventually("the new cursor is used") { devices.tokens.cursors.last == "2.2" }
        }
    }

    /// The feed starts over without the entry of a session that has ended: tokens is asked about each session.
    @Test func aSessionWhoseEntryWasLostIsDetachedToo() async throws {
        try await withDevices { devices in
            devices.tokens.end(UUID())
            try await eventually("the feed is followed") { devices.tokens.cursors.last == "1.1" }
            _ = try await devices.register(token: "aa", as: ada)
            let elsewhere = SignedIn(id: ada.id)
            _ = try await devices.register(token: "bb", as: elsewhere)
            devices.tokens.state.withLock { state in
                state.endedSessions.insert(ada.session)
                state.feed.generation += 1
            }
            devices.tokens.end(UUID())
            try await eventually("the device is detached") { try await devices.list(ada).count == 1 }
            #expect(try await devices.register(token: "aa", as: ada).status == 401)
        }
    }

    @Test func registeringNeedsNoFeed() async throws {
        try await withDevices { devices in
            devices.tokens.state.withLock { $0.feed.isDown = true }
            #expect(try await devices.register(token: "aa", as: ada).status == 200)
            devices.tokens.end(ada.session)
            devices.tokens.state.withLock { $0.feed.isDown = false }
            try await eventually("detaching catches up") { try await devices.list(ada).isEmpty }
        }
    }

    // MARK: - Faults

    @Test("PostgreSQL is frozen or killed: 503, and it is used again when it is back")
    func postgresOutage() async throws {
        try await withPostgresServer { server in
            try await Self.migrate(server.url())
            let tokens = FakeTokens()
            let keys = try TemporaryFiles()
            defer { keys.remove() }
            try await withHTTPServer(tokens.router()) { tokensURL in
                var settings = try TestDevices.settings(database: server.url(), tokens: tokensURL, keys: keys)
                settings["GATEHOUSE_PATIENCE_MS"] = "1500"
                try await withService(DevicesApplication.self, settings: settings) { service in
                    let devices = TestDevices(url: service.url, tokens: tokens)
                    #expect(try await devices.register(token: "aa", as: ada).status == 200)

                    for fault in ["frozen", "killed"] {
                        if fault == "frozen" { await server.freeze() } else { await server.kill() }
                        let response = try await devices.register(token: "bb", as: ada)
                        #expect(response.status == 503, "\(fault)")
                        #expect(try response.problem().code == "UNAVAILABLE")
                        #expect(response.header("Retry-After") != nil)
                        if fault == "frozen" { await server.thaw() } else { try await server.restart() }
                        try await eventually("PostgreSQL is used again") {
                            try await devices.register(token: "cc", as: ada).status == 200
                        }
                    }
                }
            }
        }
    }

    private static func migrate(_ url: String) async throws {
        let connection = try await PostgresConnection.patient(url)
        try await PostgresMigrator(migrations: Migrations.all, logger: .quiet).up(on: connection)
        await connection.close()
    }
}
