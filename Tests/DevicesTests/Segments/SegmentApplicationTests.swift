import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

@testable import DevicesService

/// Segments and tags through the routes.
extension PushApplicationTests {
    private func put(_ tags: [String], of user: UUID, to devices: TestDevices, as caller: String = "orders")
        async throws
        -> TestHTTPClient.Response
    {
        var headers = headers(caller)
        headers["Content-Type"] = "application/json"
        return try await devices.client.send(
            "PUT", "/internal/users/\(user)/tags", headers: headers, body: JSON.encode(UserTags(tags: tags)))
    }

    @Test func aSegmentIsPushedToByTag() async throws {
        let pushService = FakePushService()
        let bob = SignedIn()
        try await withDevices(pushService) { devices in
            _ = try await devices.register(token: "aa", as: ada)
            _ = try await devices.register(token: "bb", as: bob)
            #expect(try await put(["gold"], of: ada.id, to: devices).status == 204)
            let segment = PushSegment(tags: .init(any: ["gold", "silver"]))
            let dry = try await devices.client.post(
                "/internal/push",
                json: request {
                    $0.targets = .init(segment: segment)
                    $0.dryRun = true
                }, headers: headers())
            #expect(try dry.decode(PushAccepted.self) == PushAccepted(devices: 1))
            let response = try await devices.client.post(
                "/internal/push", json: request { $0.targets = .init(segment: segment) }, headers: headers())
            #expect(response.status == 202, "\(response.text)")
            let id = try response.decode(PushAccepted.self).id
            try await eventually("it is accepted") { try await status(devices, of: id).state == .done }
            let shown = try await status(devices, of: id)
            #expect(shown.counts == ["accepted": 1])
            #expect(shown.slices == .init(total: 64, done: 64, expired: 0, cancelled: 0, devices: 1))
            #expect(pushService.sent.map(\.destination) == [.device(PushToken(bytes: [0xAA]))])
        }
    }

    /// The user's permission is a condition of segments. It withholds no push to a user.
    @Test func aDeviceThatShowsNoNotificationsIsPushedTo() async throws {
        let pushService = FakePushService()
        try await withDevices(pushService) { devices in
            let registration = Registration(
                token: "aa", environment: .sandbox, bundleId: "com.example.app", alertsAllowed: false)
            let registered = try await devices.client.post(
                "/v1/devices/register", json: registration, headers: ada.headers)
            #expect(try registered.decode(Device.self).alertsAllowed == false)
            #expect(try await devices.list(ada).map(\.alertsAllowed) == [false])
            for (targets, devicesCount) in [
                (.init(users: [ada.id]), 1), (.init(segment: .init()), 1),
                (.init(segment: .init(alertsAllowed: true)), 0),
            ] as [(PushRequest.Targets, Int)] {
                let dry = try await devices.client.post(
                    "/internal/push",
                    json: request {
                        $0.targets = targets
                        $0.dryRun = true
                    }, headers: headers())
                #expect(try dry.decode(PushAccepted.self).devices == devicesCount, "\(dry.text)")
            }
            let response = try await devices.client.post(
                "/internal/push", json: request { $0.targets = .init(users: [ada.id]) }, headers: headers())
            #expect(response.status == 202, "\(response.text)")
            try await eventually("it is sent") { pushService.sent.count == 1 }
        }
    }

    @Test func aMistypedPropertyIsRefused() async throws {
        try await withDevices(FakePushService()) { devices in
            for (segment, field) in [
                (#"{"locale": ["de"]}"#, "targets.segment.locale"),
                (#"{"tags": {"all": [], "some": ["a"]}}"#, "targets.segment.tags.some"),
                (#"{"appVersion": {"from": "x"}}"#, "targets.segment.appVersion.from"),
                (#"{"alertsAllowed": "yes"}"#, "targets.segment.alertsAllowed"),
            ] {
                let body = """
                    {"targets": {"segment": \(segment)}, "bundleId": "com.example.app", "pushType": "alert",
                     "payload": {}}
                    """
                let response = try await devices.client.post("/internal/push", text: body, headers: headers())
                #expect(response.status == 400)
                #expect(try response.problem().errors?.map(\.field) == [field])
            }
        }
    }

    @Test func tooManyOpenSegmentsAreRefused() async throws {
        try await withDevices(FakePushService(), settings: ["DEVICES_PUSH_BULK_LIMIT": "1"]) { devices in
            let later = request {
                $0.targets = .init(segment: .init())
                $0.sendAt = .now + 3600
            }
            let first = try await devices.client.post("/internal/push", json: later, headers: headers(key: "k"))
            #expect(first.status == 202)
            let again = try await devices.client.post("/internal/push", json: later, headers: headers(key: "k"))
            #expect(again.status == 202 && again.body == first.body)
            let second = try await devices.client.post("/internal/push", json: later, headers: headers())
            #expect(second.status == 429 && second.header("Retry-After") == "60")
        }
    }

    @Test func tagsAreSetShownExportedAndErased() async throws {
        try await withDevices(FakePushService()) { devices in
            let path = "/internal/users/\(ada.id)"
            #expect(try await put(["b", "a", "a"], of: ada.id, to: devices).status == 204)
            let tags = try await devices.client.get(path + "/tags", headers: headers())
            #expect(try tags.decode(UserTags.self) == UserTags(tags: ["a", "b"]))
            for wrong in [["a b"], [""], (0...50).map { "\($0)" }] {
                let response = try await put(wrong, of: ada.id, to: devices)
                #expect(response.status == 400)
                #expect(try response.problem().errors?.map(\.field) == ["tags"])
            }
            let identity = [HeaderName.credential: "dev-identity-devices"]
            for headers in [identity, [HeaderName.credential: "dev-gateway-devices"]] {
                #expect(try await devices.client.get(path + "/tags", headers: headers).status == 403)
            }
            let export = try await devices.client.get(path + "/devices", headers: identity)
            #expect(try export.decode(DeviceExport.self).tags == ["a", "b"])
            #expect(try await devices.client.delete(path, headers: identity).status == 204)
            let erased = try await devices.client.get(path + "/tags", headers: headers())
            #expect(try erased.decode(UserTags.self) == UserTags(tags: []))
            #expect(try await put(["a"], of: ada.id, to: devices).status == 404)
        }
    }

    @Test func aCallerNeitherSeesNorChangesTheTagsOfAnother() async throws {
        try await withDevices(FakePushService()) { devices in
            let path = "/internal/users/\(ada.id)/tags"
            _ = try await devices.register(token: "aa", as: ada)
            #expect(try await put(["gold"], of: ada.id, to: devices).status == 204)
            // news and alerts share a space.
            #expect(try await put(["silver"], of: ada.id, to: devices, as: "news").status == 204)
            for (caller, tags) in [("orders", ["gold"]), ("news", ["silver"]), ("alerts", ["silver"])] {
                let shown = try await devices.client.get(path, headers: headers(caller))
                #expect(try shown.decode(UserTags.self).tags == tags, "\(caller)")
                let dry = try await devices.client.post(
                    "/internal/push",
                    json: request {
                        $0.targets = .init(segment: PushSegment(tags: .init(all: ["gold"])))
                        $0.dryRun = true
                    }, headers: headers(caller))
                #expect(try dry.decode(PushAccepted.self).devices == (caller == "orders" ? 1 : 0), "\(caller)")
            }
        }
    }
}
