import Foundation
import GatehouseServiceContracts
import Postgres
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// The real application on a free port, with PostgreSQL, a feed and a push service of the test.
@Suite struct PushApplicationTests {
    let ada = SignedIn()

    private static let callers = """
        callers:
          - name: orders
            credential: dev-orders-devices
            bundleIds: [com.example.app]
            pushTypes: [alert, background]
          - name: chat
            credential: [dev-chat-devices, dev-chat-devices-2]
            bundleIds: [com.example.app, com.example.chat]
            pushTypes: voip
          - name: news
            credential: dev-news-devices
            bundleIds: [com.example.app]
            pushTypes: alert
            quietHours: {from: "\(clock(-2))", to: "\(clock(3))"}
            capPerDay: 1
            tags: marketing
          - name: alerts
            credential: dev-alerts-devices
            bundleIds: [com.example.app]
            pushTypes: alert
            tags: marketing
        """

    /// The time of day some hours from now, in UTC.
    private static func clock(_ hours: Int) -> String {
        String(format: "%02d:00", (Int(Date.now.timeIntervalSince1970) / 3600 + hours) % 24)
    }

    func withDevices(
        _ pushService: FakePushService, settings more: [String: String] = [:],
        _ body: @escaping @Sendable (TestDevices) async throws -> Void
    ) async throws {
        try await DevicesWithPushService.$pushService.withValue(pushService) {
            try await withDevicesDependencies(callers: Self.callers) { dependencies in
                let settings = dependencies.settings.merging(more) { $1 }
                try await withService(DevicesWithPushService.self, settings: settings) { service in
                    try await body(TestDevices(url: service.url, tokens: dependencies.tokens))
                }
            }
        }
    }

    func headers(_ caller: String = "orders", key: String? = UUID().uuidString) -> [String: String] {
        var headers = [HeaderName.credential: "dev-\(caller)-devices"]
        headers["Idempotency-Key"] = key
        return headers
    }

    func request(_ change: (inout PushRequest) -> Void = { _ in }) -> PushRequest {
        var request = PushRequest(
            targets: .init(users: [ada.id]), bundleId: "com.example.app", pushType: .alert,
            payload: .object(["aps": .object(["alert": .string("Hello")])]))
        change(&request)
        return request
    }

    func status(
        _ devices: TestDevices, of id: String?, as caller: String = "orders"
    ) async throws -> PushStatus {
        try await devices.client.get("/internal/push/\(id ?? "")", headers: headers(caller)).decode(PushStatus.self)
    }

    @Test func aPushIsAcceptedSentAndShown() async throws {
        let pushService = FakePushService()
        try await withDevices(pushService) { devices in
            _ = try await devices.register(token: "aabb", as: ada)
            // White space, order and numbers stay as the caller wrote them.
            let payload =
                #"{ "z": 1.50, "aps": {"alert" : "Gr\u00fc\u00dfe"}, "big": 12345678901234567890, "n": null }"#
            let body = """
                {"targets": {"users": ["\(ada.id)"]}, "bundleId": "com.example.app", "pushType": "alert",
                 "payload": \(payload), "collapseId": "match"}
                """
            let response = try await devices.client.post("/internal/push", text: body, headers: headers())
            #expect(response.status == 202, "\(response.text)")
            let accepted = try response.decode(PushAccepted.self)
            #expect(accepted.devices == 1)
            try await eventually("it is accepted") { try await status(devices, of: accepted.id).state == .done }
            #expect(try await status(devices, of: accepted.id).counts == ["accepted": 1])
            #expect(pushService.sent.map(\.payload) == [Array(payload.utf8)])
            let text = try await devices.client.get("/internal/push/\(accepted.id ?? "")", headers: headers()).text
            #expect(!text.contains("aabb") && !text.contains("Gr"))
        }
    }

    /// A caller with quiet hours and a cap sends a template to a phone in German.
    @Test func aTemplateIsSentOnceADayOutsideQuietHours() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "gatehouse-tests-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try PushTemplateTests.write(
            [
                "news/en.json": #"{"aps": {"alert": "{{team}} won"}}"#,
                "news/de.json": #"{"aps": {"alert": "{{team}} hat gewonnen"}}"#,
            ], to: folder)
        let pushService = FakePushService()
        try await withDevices(pushService, settings: ["DEVICES_PUSH_TEMPLATES_DIRECTORY": folder.path]) { devices in
            let registration = Registration(
                token: "aabb", environment: .sandbox, bundleId: "com.example.app", locale: "de_DE", timeZone: "UTC")
            let registered = try await devices.client.post(
                "/v1/devices/register", json: registration, headers: ada.headers)
            #expect(registered.status == 200)
            func push(_ change: (inout PushRequest) -> Void = { _ in }) async throws -> TestHTTPClient.Response {
                let request = request {
                    ($0.payload, $0.template) = (nil, .init(name: "news", arguments: ["team": #"Köln "05""#]))
                    change(&$0)
                }
                return try await devices.client.post("/internal/push", json: request, headers: headers("news"))
            }
            func expect(_ push: TestHTTPClient.Response, _ state: PushTargetState, _ reason: String?) async throws {
                #expect(push.status == 202, "\(push.text)")
                let id = try push.decode(PushAccepted.self).id
                try await eventually("it is \(state) \(reason ?? "")") {
                    let status = try await status(devices, of: id, as: "news")
                    return status.devices.map(\.state) == [state] && status.devices.map(\.reason) == [reason]
                }
            }
            try await expect(push(), .queued, "quietHours")
            try await expect(push { $0.expiresAt = .now + 3600 }, .suppressed, "quietHours")
            try await expect(push { $0.ignoreQuietHours = true }, .accepted, nil)
            try await expect(push { $0.ignoreQuietHours = true }, .suppressed, "capped")
            #expect(pushService.sent.map(\.payload) == [Array(#"{"aps":{"alert":"Köln \"05\" hat gewonnen"}}"#.utf8)])
            let refused = try await push {
                $0.template?.arguments = ["player": "x"]
                $0.sendAtLocal = "tomorrow"
            }
            #expect(refused.status == 400)
            #expect(
                try refused.problem().errors?.map(\.field)
                    == ["template.arguments.team", "template.arguments.player", "sendAtLocal"])
        }
    }

    @Test func aRequestIsAcceptedOnce() async throws {
        try await withDevices(FakePushService()) { devices in
            _ = try await devices.register(token: "aabb", as: ada)
            let first = try await devices.client.post("/internal/push", json: request(), headers: headers(key: "k"))
            let again = try await devices.client.post("/internal/push", json: request(), headers: headers(key: "k"))
            #expect(first.status == 202 && again.status == 202 && first.body == again.body)
            let other = try await devices.client.post(
                "/internal/push", json: request { $0.collapseId = "x" }, headers: headers(key: "k"))
            #expect(other.status == 409)
            #expect(try other.problem().code == "IDEMPOTENCY_KEY_REUSED")
            for key in [nil, "", "a b"] {
                let response = try await devices.client.post(
                    "/internal/push", json: request(), headers: headers(key: key))
                #expect(response.status == 400)
                #expect(try response.problem().errors?.map(\.field) == ["Idempotency-Key"])
            }
        }
    }

    /// A caller without an answer may repeat its request late.
    @Test func aRequestIsAcceptedOnceAlsoAfterItsExpiration() async throws {
        try await withDevices(FakePushService()) { devices in
            var (end, key, id) = (Date.now, "", String?.none)
            try await eventually("a push that expires soon is accepted") {
                (end, key) = (Date.now + 1, UUID().uuidString)
                let response = try await devices.client.post(
                    "/internal/push", json: request { $0.expiresAt = end }, headers: headers(key: key))
                guard response.status == 202 else { return false }
                id = try response.decode(PushAccepted.self).id
                return true
            }
            let repetition = request { $0.expiresAt = end }
            try await eventually("it has expired") { Date.now > end }
            let again = try await devices.client.post("/internal/push", json: repetition, headers: headers(key: key))
            #expect(again.status == 202)
            #expect(try again.decode(PushAccepted.self).id == id)
            let late = try await devices.client.post("/internal/push", json: repetition, headers: headers())
            #expect(try late.problem().errors?.map(\.field) == ["expiresAt"])
        }
    }

    @Test func aCallerFollowsItsOutcomes() async throws {
        try await withDevices(FakePushService.refusing(400, "BadDeviceToken")) { devices in
            _ = try await devices.register(token: "aabb", as: ada)
            func read(_ query: String, as caller: String = "orders") async throws -> PushOutcomePage {
                try await devices.client.get("/internal/push/outcomes?\(query)", headers: headers(caller)).decode()
            }
            let start = try await read("after=latest")
            async let next = read("after=\(start.cursor)&wait=30")
            let response = try await devices.client.post("/internal/push", json: request(), headers: headers())
            let id = try response.decode(PushAccepted.self).id
            let page = try await next
            #expect(page.entries.map(\.push.uuidString.localizedLowercase) == [id])
            #expect(page.entries.map(\.state) == [.rejected] && page.entries.map(\.reason) == ["BadDeviceToken"])
            #expect(try await read("wait=0", as: "chat").entries == [])
        }
    }

    @Test func aDryRunCountsDevices() async throws {
        let pushService = FakePushService()
        try await withDevices(pushService) { devices in
            _ = try await devices.register(token: "aabb", as: ada)
            let response = try await devices.client.post(
                "/internal/push", json: request { $0.dryRun = true }, headers: headers())
            #expect(response.status == 200)
            #expect(try response.decode(PushAccepted.self) == PushAccepted(devices: 1))
            #expect(pushService.sent.isEmpty)
        }
    }

    /// It may read many devices.
    @Test func aCallersDryRunsCountOneAtATime() async throws {
        try await DevicesWithPushService.$pushService.withValue(FakePushService()) {
            try await withDevicesDependencies(callers: Self.callers) { dependencies in
                try await withService(DevicesWithPushService.self, settings: dependencies.settings) { service in
                    let devices = TestDevices(url: service.url, tokens: dependencies.tokens)
                    @Sendable func run(as caller: String) async throws -> TestHTTPClient.Response {
                        try await devices.client.post(
                            "/internal/push", json: request { $0.dryRun = true }, headers: headers(caller))
                    }
                    // While devices cannot be read, a dry run stays in progress for a time.
                    try await dependencies.database.pool.withTransaction { transaction in
                        try await transaction.query("LOCK TABLE devices IN ACCESS EXCLUSIVE MODE")
                        try await eventually("one of two at once is refused") {
                            async let first = run(as: "orders")
                            async let second = run(as: "orders")
                            let refused = try await [first, second].filter { $0.status == 429 }
                            for response in refused {
                                #expect(response.header("Retry-After") == "1")
                                #expect(try response.problem().code == "RATE_LIMITED")
                            }
                            return refused.count == 1
                        }
                    }
                    #expect(try await run(as: "orders").status == 200)
                }
            }
        }
    }

    @Test func callersPushToTheirAppsOnly() async throws {
        try await withDevices(FakePushService()) { devices in
            for (credential, change, status) in [
                (
                    "dev-orders-devices",
                    {
                        $0.pushType = .background
                        $0.payload = .object(["aps": .object(["content-available": .integer(1)])])
                    }, 202
                ),
                ("dev-orders-devices", { $0.pushType = .voip }, 403),
                ("dev-orders-devices", { $0.bundleId = "com.example.chat" }, 403),
                ("dev-chat-devices-2", { $0.pushType = .voip }, 202), ("dev-chat-devices", { _ in }, 403),
                ("dev-gateway-devices", { _ in }, 403), ("dev-identity-devices", { _ in }, 403),
                ("wrong", { _ in }, 403),
            ] as [(String, (inout PushRequest) -> Void, Int)] {
                var headers = headers()
                headers[HeaderName.credential] = credential
                let response = try await devices.client.post("/internal/push", json: request(change), headers: headers)
                #expect(response.status == status, "\(credential) \(response.text)")
            }
            // Their credentials open nothing else.
            #expect(try await devices.client.get("/internal/users/\(ada.id)/devices", headers: headers()).status == 403)
            let accepted = try await devices.client.post("/internal/push", json: request(), headers: headers())
            let path = "/internal/push/\(try accepted.decode(PushAccepted.self).id ?? "")"
            #expect(try await devices.client.get(path, headers: headers("chat")).status == 404)
            #expect(try await devices.client.delete(path, headers: headers("chat")).status == 404)
            #expect(try await devices.client.get(path, headers: headers()).status == 200)
            #expect(try await devices.client.delete(path, headers: headers()).status == 204)
            for cursor in ["x", "1_x", "_"] {
                #expect(try await devices.client.get(path + "?after=\(cursor)", headers: headers()).status == 400)
            }
            #expect(try await devices.client.get("/internal/push/\(UUID())", headers: headers()).status == 404)
        }
    }

    @Test func aBadRequestIsRefusedFieldByField() async throws {
        try await withDevices(FakePushService()) { devices in
            let start = #"{"targets": {"users": ["\#(ada.id)"]}, "bundleId": "com.example.app""#
            for (rest, field) in [
                (#", "pushType": "alert", "payload": []}"#, "payload"), (#", "pushType": "alert"}"#, "payload"),
                (#", "pushType": "fax", "payload": {}}"#, "pushType"),
                (#", "pushType": "widgets", "payload": {}}"#, "pushType"),
                (#", "pushType": "alert", "priority": 7, "payload": {}}"#, "priority"),
                (
                    #", "pushType": "background", "priority": 10, "payload": {"aps": {"content-available": 1}}}"#,
                    "priority"
                ),
                (#", "pushType": "background", "payload": {"aps": {"alert": "Hello"}}}"#, "payload"),
                // Too large in any form, so that nothing else is looked at.
                (
                    #", "pushType": "fax", "payload": [\#(String(repeating: "1,", count: 20_000))1]}"#, "payload"
                ),
                (#", "pushType": "alert", "payload": {"a": 1, "a": 2}}"#, nil),
                (#", "pushType": "alert", "payload": {"a": "\#(String(repeating: "x", count: 4096))"}}"#, "payload"),
            ] as [(String, String?)] {
                let response = try await devices.client.post("/internal/push", text: start + rest, headers: headers())
                #expect(response.status == 400, "\(rest)")
                let problem = try response.problem()
                if let field { #expect(problem.errors?.map(\.field) == [field], "\(rest)") }
            }
        }
    }

    @Test func aFullQueueRefuses() async throws {
        let settings = ["DEVICES_PUSH_QUEUE_LIMIT": "2"]
        let pushService = FakePushService()
        // What is sent at once does not wait.
        pushService.streams.withLock { $0 = 0 }
        try await withDevices(pushService, settings: settings) { devices in
            _ = try await devices.register(token: "aa", as: ada)
            _ = try await devices.register(token: "bb", as: ada)
            let first = try await devices.client.post("/internal/push", json: request(), headers: headers())
            #expect(first.status == 202)
            let second = try await devices.client.post("/internal/push", json: request(), headers: headers())
            #expect(second.status == 429 && second.header("Retry-After") == "5")
            #expect(try second.problem().code == "RATE_LIMITED")
            let voip = PushRequest(
                targets: .init(users: [ada.id]), bundleId: "com.example.chat", pushType: .voip, payload: .object([:]))
            #expect(try await devices.client.post("/internal/push", json: voip, headers: headers("chat")).status == 202)
        }
    }

    /// A push that is not started counts by its recipients and bytes.
    @Test func scheduledPushesFillTheQueue() async throws {
        @Sendable func send(_ devices: TestDevices, users: Int, caller: String = "orders") async throws
            -> TestHTTPClient.Response
        {
            let push = request {
                $0.targets = .init(users: (0..<users).map { _ in UUID() })
                $0.sendAt = .now + 3600
                $0.payload = .object(["a": .string(String(repeating: "x", count: 3000))])
            }
            // A 503 is repeated under the same key, as callers do: it is one push, however slow PostgreSQL is.
            let fields = headers(caller)
            while true {
                let answer = try await devices.client.post("/internal/push", json: push, headers: fields)
                if answer.status != 503 { return answer }
            }
        }
        try await withDevices(FakePushService(), settings: ["DEVICES_PUSH_QUEUE_LIMIT": "30"]) { devices in
            #expect(try await send(devices, users: 29).status == 202)
            #expect(try await send(devices, users: 1).status == 202)
            let refused = try await send(devices, users: 1)
            #expect(refused.status == 429 && refused.header("Retry-After") == "5")
            #expect(try refused.problem().detail == "Too many pushes wait.")
            #expect(try await send(devices, users: 1, caller: "news").status == 202)
        }
        try await withDevices(FakePushService(), settings: ["DEVICES_PUSH_QUEUE_BYTES": "1000000"]) { devices in
            // Each has 3 KB of payload and 42 KB of recipients.
            for _ in 0..<23 { #expect(try await send(devices, users: 1000).status == 202) }
            let refused = try await send(devices, users: 1)
            #expect(refused.status == 429)
            #expect(try refused.problem().detail == "The pushes that wait are too large.")
            #expect(try await send(devices, users: 1, caller: "news").status == 202)
        }
    }

    /// Many users, so many devices: more than one statement may add.
    @Test func aPushToManyUsersIsAddedInSteps() async throws {
        let pushService = FakePushService()
        try await withDevices(pushService) { devices in
            _ = try await devices.register(token: "aabb", as: ada)
            let others = (0..<999).map { _ in UUID() }
            let response = try await devices.client.post(
                "/internal/push", json: request { $0.targets = .init(users: others + [ada.id]) }, headers: headers())
            #expect(response.status == 202)
            let accepted = try response.decode(PushAccepted.self)
            #expect(accepted.devices == nil)
            try await eventually("it is done") { try await status(devices, of: accepted.id).state == .done }
            #expect(try await status(devices, of: accepted.id).counts == ["accepted": 1] && pushService.sent.count == 1)
        }
    }

    @Test func aRevokedSessionReceivesNothing() async throws {
        let pushService = FakePushService { _ in .notSent(.noKey) }
        try await withDevices(pushService) { devices in
            _ = try await devices.register(token: "aa", as: ada)
            devices.tokens.end(ada.session)
            try await eventually("the device is detached") { try await devices.list(ada).isEmpty }
            let accepted = try await devices.client.post("/internal/push", json: request(), headers: headers())
            #expect(try accepted.decode(PushAccepted.self).devices == 0)
            #expect(pushService.sent.isEmpty)
        }
    }

    /// A lost connection to tokens must be noticed soon while pushes could be sent to ended sessions.
    @Test func theFeedIsPolledEverySecondWhilePushesArePending() async throws {
        try await withDevices(FakePushService { _ in .notSent(.saturated) }) { devices in
            func waits() -> [Int] { devices.tokens.state.withLock { $0.feed.waits } }
            try await eventually("the feed is followed") { waits().count == 2 }
            #expect(waits() == [0, RevocationConsumer.wait])
            _ = try await devices.register(token: "aa", as: ada)
            let response = try await devices.client.post("/internal/push", json: request(), headers: headers())
            #expect(response.status == 202)
            // The long poll ends.
            try await eventually("the feed is polled") { waits().count > 2 }
            #expect(waits()[2] == RevocationConsumer.pendingWait)
        }
    }

    @Test func nothingIsSentBeforeTheFeedIsRead() async throws {
        let pushService = FakePushService()
        try await withDevices(pushService) { devices in
            devices.tokens.state.withLock { $0.feed.isDown = true }
            _ = try await devices.register(token: "aa", as: ada)
            let response = try await devices.client.post("/internal/push", json: request(), headers: headers())
            let id = try response.decode(PushAccepted.self).id
            devices.tokens.state.withLock { $0.feed.isDown = false }
            try await eventually("it is accepted") { try await status(devices, of: id).state == .done }
        }
    }

    @Test func deadLettersAreListedAndReplayed() async throws {
        try await withDevices(FakePushService()) { devices in
            let list = try await devices.client.get("/internal/push/dead", headers: headers())
            #expect(list.status == 200)
            #expect(try list.decode(DeadPushList.self) == DeadPushList(entries: [], next: nil))
            let path = "/internal/push/dead/\(UUID())/replay"
            #expect(try await devices.client.post(path, headers: headers()).status == 404)
            let late = PushReplay(expiresAt: .now - 60)
            #expect(try await devices.client.post(path, json: late, headers: headers()).status == 400)
        }
    }

    /// Without Apple's keys nothing could be sent.
    @Test func withoutAPushServicePushesAreRefused() async throws {
        try await withDevicesDependencies(callers: Self.callers) { dependencies in
            try await withService(DevicesApplication.self, settings: dependencies.settings) { service in
                let client = TestHTTPClient(service.url)
                let response = try await client.post("/internal/push", json: request(), headers: headers())
                #expect(response.status == 503 && response.header("Retry-After") == "60")
            }
        }
    }
}
