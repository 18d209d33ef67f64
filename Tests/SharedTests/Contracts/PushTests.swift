import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import Testing

@Suite struct PushTests {
    @Test func anyJSONIsContent() throws {
        let text = #"{"a":[1,-2.5,"x",true,null,{}],"b":null,"c":9007199254740993}"#
        let content = JSONValue.object([
            "a": .array([.integer(1), .number("-2.5"), .string("x"), .bool(true), .null, .object([:])]), "b": .null,
            "c": .integer(9_007_199_254_740_993),
        ])
        #expect(try StrictJSON.decode(JSONValue.self, from: Array(text.utf8)) == content)
        #expect(try JSON.decode(JSONValue.self, from: Data(text.utf8)) == content)
        #expect(String(decoding: try JSON.encode(content), as: UTF8.self) == text)
    }

    @Test func aRequestReadsBack() throws {
        let request = PushRequest(
            targets: .init(users: [UUID()], devices: [.init(user: UUID(), device: UUID())]),
            bundleId: "com.example.app", environment: .sandbox, pushType: .liveactivity, priority: .immediate,
            expiresAt: Date(timeIntervalSince1970: 1_800_000_000), payload: .object(["aps": .object([:])]),
            onDoubt: .drop, urgency: .bulk)
        #expect(try StrictJSON.decode(PushRequest.self, from: Array(JSON.encode(request))) == request)
        let local = PushRequest(
            targets: .init(users: [UUID()]), bundleId: "com.example.app", pushType: .alert,
            sendAtLocal: "2026-12-24T09:00:00", fallbackTimeZone: "Europe/Berlin",
            quietHours: .init(from: "22:00", to: "07:00"), ignoreQuietHours: false, capPerDay: 3,
            template: .init(name: "order-shipped", arguments: ["number": "17"]))
        #expect(try StrictJSON.decode(PushRequest.self, from: Array(JSON.encode(local))) == local)
    }
}
