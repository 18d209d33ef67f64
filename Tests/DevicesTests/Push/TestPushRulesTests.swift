import Foundation
import GatehouseServiceContracts
import Testing

@testable import DevicesService

@Suite struct TestPushRulesTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let app: Set<String> = ["com.example.app"]
    private static let apps: Set<String> = ["com.example.app", "com.example.chat"]
    private let ada = UUID()

    private func validate(_ request: TestPushRequest, apps: Set<String> = app) throws -> ValidPush? {
        try TestPushRules.validate(request, to: ada, apps: apps, now: Self.now)
    }

    /// The fields that are refused.
    private func refused(_ request: TestPushRequest, apps: Set<String> = app) throws -> [String] {
        do {
            _ = try validate(request, apps: apps)
            return []
        } catch let error as InvalidPush {
            return error.fields.map(\.name)
        }
    }

    @Test func itIsAnUrgentAlertToTheUserThatExpiresSoon() throws {
        let push = try #require(try validate(TestPushRequest()))
        #expect(push.recipients == [.user(ada)] && push.segment == nil && push.sendAt == nil && !push.isDryRun)
        #expect(push.content.type == .alert && push.content.priority == .immediate)
        #expect(push.content.urgency == .urgent && push.content.bundleID == "com.example.app")
        #expect(push.content.expiresAt == Self.now + 300 && push.content.environment == nil)
        #expect(push.content.payload == Array(#"{"aps":{"alert":{"title":"Test push"},"sound":"default"}}"#.utf8))
        let other = try #require(try validate(.init(title: "Grüße", body: "\"a\"")))
        #expect(
            other.content.payload
                == Array(#"{"aps":{"alert":{"body":"\"a\"","title":"Grüße"},"sound":"default"}}"#.utf8))
    }

    @Test func textsAreBounded() throws {
        func text(_ length: Int, of character: String = "a") -> String { String(repeating: character, count: length) }
        #expect(try refused(.init(title: text(100), body: text(500))) == [])
        // The longest form of a character in JSON: the payload stays within Apple's limit.
        #expect(try refused(.init(title: text(100, of: "\u{1}"), body: text(500, of: "\u{1}"))) == [])
        #expect(try refused(.init(title: text(101), body: text(501))) == ["title", "body"])
        // One character to a reader.
        #expect(try refused(.init(title: "a" + text(100, of: "\u{301}"))) == ["title"])
        #expect(try refused(.init(title: "", body: "")) == ["title", "body"])
    }

    @Test func theAppIsOneOfTheUsersDevices() throws {
        #expect(try validate(.init(), apps: []) == nil)
        #expect(try validate(.init(bundleId: "com.example.app"), apps: []) == nil)
        #expect(try refused(.init(), apps: Self.apps) == ["bundleId"])
        #expect(try refused(.init(title: "", bundleId: "com.example.other")) == ["title", "bundleId"])
        let chat = try validate(.init(bundleId: "com.example.chat"), apps: Self.apps)
        #expect(chat?.content.bundleID == "com.example.chat")
    }
}
