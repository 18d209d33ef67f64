import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import DevicesService

/// What a recipient's language, time zone and cap do to a push, with real PostgreSQL.
@Suite struct PushRecipientTests {
    let ada = SignedIn()
    let bob = SignedIn()

    @Test func eachDeviceReceivesItsLanguage() async throws {
        try await TestPushes.with { pushes in
            for (token, locale) in [("aa", "de-AT"), ("bb", "en_GB"), ("cc", "fr"), ("dd", nil)] {
                _ = try await pushes.register(ada, token: token, locale: locale)
            }
            let template = try PushTemplateTests.template([
                "en": #"{"a": "Hi {{n}}"}"#, "de": #"{"a": "Hallo {{n}}"}"#,
            ])
            let push = try await pushes.accept(.init(users: [ada.id]), templates: PushTemplates(["hello": template])) {
                ($0.payload, $0.template) = (nil, .init(name: "hello", arguments: ["n": "\"ö"]))
            }
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
                try await pushes.eventually(push, is: "accepted", "accepted", "accepted", "accepted")
            }
            let sent = pushService.sent.compactMap { push -> (UInt8, String)? in
                guard case .device(let token) = push.destination else { return nil }
                return (token.bytes[0], String(decoding: push.payload, as: UTF8.self))
            }
            let english = #"{"a":"Hi \"ö"}"#
            #expect(
                Dictionary(uniqueKeysWithValues: sent)
                    == [0xAA: #"{"a":"Hallo \"ö"}"#, 0xBB: english, 0xCC: english, 0xDD: english])
        }
    }

    /// Quiet hours around the present in one time zone, and the time in another is half a day away.
    @Test func quietHoursAreTheDevices() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa", timeZone: "Etc/GMT")
            _ = try await pushes.register(ada, token: "bb", timeZone: "Etc/GMT+12")
            _ = try await pushes.register(ada, token: "cc")
            let hour = Int(Date.now.timeIntervalSince1970 / 3600)
            func text(_ hour: Int) -> String { String(format: "%02d:00", hour % 24) }
            let quiet = PushRequest.QuietHours(from: text(hour + 22), to: text(hour + 3))
            let later = try await pushes.accept(.init(users: [ada.id])) {
                ($0.quietHours, $0.fallbackTimeZone) = (quiet, "Etc/GMT")
            }
            let never = try await pushes.accept(.init(users: [ada.id])) {
                ($0.quietHours, $0.expiresAt) = (quiet, .now + 3600)
            }
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
                try await pushes.eventually(later, is: "accepted", "queued quietHours", "queued quietHours")
                try await pushes.eventually(never, is: "accepted", "suppressed quietHours", "suppressed quietHours")
                let due = try await pushes.database.query(
                    "SELECT DISTINCT due_at FROM push_targets WHERE state = 'queued'"
                )
                .decode(Date.self)
                #expect(due.count == 1 && due[0] > .now + 3600 && due[0] <= .now + 3 * 3600)
            }
            #expect(
                pushService.sent.count == 2
                    && pushService.sent.allSatisfy { $0.destination == .device(PushToken(bytes: [0xBB])) })
        }
    }

    @Test func aPushIsDueByEachDevicesClock() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa", timeZone: "Pacific/Kiritimati")
            _ = try await pushes.register(ada, token: "bb", timeZone: "GMT+0200")
            // PostgreSQL and Foundation do not know it.
            _ = try await pushes.register(ada, token: "cc", timeZone: "Mars/Base")
            // An hour ago in UTC+14.
            let local = LocalTime(seconds: Int64(Date.now.timeIntervalSince1970) + 13 * 3600)
            let push = try await pushes.accept(.init(users: [ada.id])) {
                ($0.sendAtLocal, $0.fallbackTimeZone) = (local.text, "Etc/GMT+12")
            }
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
                try await pushes.eventually(push, is: "accepted", "queued sendAtLocal", "queued sendAtLocal")
                let due = try await pushes.database.query("SELECT due_at FROM push_targets WHERE due_at IS NOT NULL")
                    .decode(Date.self).sorted()
                #expect(due.map { Int64($0.timeIntervalSince1970) - local.seconds } == [-2 * 3600, 12 * 3600])
                // The phone arrives in Kiritimati. The rows are locked in the sender's order, because it may store the
                // ends of their sessions at the same time.
                try await pushes.database.query(
                    """
                    WITH held AS MATERIALIZED (SELECT bucket, id FROM devices ORDER BY bucket, id FOR UPDATE)
                    UPDATE devices SET time_zone = 'Pacific/Kiritimati' FROM held
                    WHERE devices.bucket = held.bucket AND devices.id = held.id
                    """)
                try await pushes.makeDue()
                try await pushes.eventually(push, is: "accepted", "accepted", "accepted")
            }
            let status = try await pushes.status(of: push)
            #expect(status.sendAt == nil && status.sendAtLocal == local.text && status.state == .done)
        }
    }

    @Test func aPushOfTomorrowByEachClockIsScheduled() async throws {
        try await TestPushes.with { pushes in
            let local = LocalTime(seconds: Int64(Date.now.timeIntervalSince1970) + 24 * 3600)
            let push = try await pushes.accept(.init(users: [ada.id])) { $0.sendAtLocal = local.text }
            let status = try await pushes.status(of: push)
            #expect(status.state == .scheduled && status.sendAtLocal == local.text && status.sendAt == nil)
        }
    }

    @Test func aUserReceivesNoMoreThanTheCap() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            _ = try await pushes.register(ada, token: "bb")
            _ = try await pushes.register(bob, token: "cc")
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
                for capped in [false, false, true] {
                    let push = try await pushes.accept(.init(users: [ada.id])) { $0.capPerDay = 2 }
                    let state = capped ? "suppressed capped" : "accepted"
                    try await pushes.eventually(push, is: state, state)
                }
                let both = try await pushes.accept(.init(users: [ada.id, bob.id])) { $0.capPerDay = 1 }
                try await pushes.eventually(both, is: "accepted", "suppressed capped", "suppressed capped")
                let free = try await pushes.accept(.init(users: [ada.id, bob.id]))
                try await pushes.eventually(free, is: "accepted", "accepted", "accepted")
            }
            #expect(pushService.sent.count == 8)
            let counts = try await pushes.database.query(
                "SELECT cardinality(pushes) FROM push_user_days ORDER BY 1"
            ).decode(Int.self)
            #expect(counts == [1, 2])
        }
    }

    /// Of one team's app and another's.
    @Test(arguments: [nil, 3])
    func aCapCountsThePushesOfItsApp(_ capOfAll: Int?) async throws {
        try await TestPushes.with { pushes in
            let apps = [TestPushes.app, "com.example.other"]
            for (app, token) in zip(apps, ["aa", "bb"]) {
                _ = try await pushes.register(ada, token: token, bundle: app)
            }
            var limits = TestPushes.limits
            limits.capPerDay = capOfAll
            try await pushes.sending(through: FakePushService(), limits: limits) {
                var states: [String] = []
                for app in [apps[0], apps[0], apps[0], apps[1], apps[1], apps[1]] {
                    let push = try await pushes.accept(.init(users: [ada.id])) {
                        ($0.bundleId, $0.capPerDay) = (app, 2)
                    }
                    try await eventually("it has ended") { try await pushes.status(of: push).state == .done }
                    states += try await pushes.states(of: push)
                }
                let (sent, capped) = ("accepted", "suppressed capped")
                #expect(states == [sent, sent, capped, sent, capOfAll == nil ? sent : capped, capped])
                // A push without a cap is free of the operator's.
                let free = try await pushes.accept(.init(users: [ada.id]))
                try await pushes.eventually(free, is: sent)
            }
        }
    }

    /// What a dead replica may have sent is repeated, although the cap has been reached meanwhile.
    @Test func aRepetitionDoesNotCount() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id])) { $0.capPerDay = 1 }
            let (dead, other) = (FakePushService.silent(), FakePushService())
            try await pushes.sending(through: dead) {
                try await eventually("it is in flight") { dead.sent.count == 1 }
            }
            try await pushes.makeDue()
            try await pushes.sending(through: other) { try await pushes.eventually(push, is: "accepted") }
            #expect(other.sent.count == 1)
            let counts = try await pushes.database.query("SELECT cardinality(pushes) FROM push_user_days")
            #expect(try counts.decode(Int.self) == [1])
        }
    }

    @Test func aPushWithoutACapWritesNoCount() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            try await pushes.sending(through: FakePushService()) { try await pushes.eventually(push, is: "accepted") }
            let late = try await pushes.accept(.init(users: [ada.id])) { $0.capPerDay = 1 }
            try await pushes.expire(late)
            try await pushes.sending(through: FakePushService()) { try await pushes.eventually(late, is: "expired") }
            #expect(try await pushes.registry.count("push_user_days") == 0)
        }
    }

    /// PostgreSQL refuses for a moment: the push is put back, and sent when counts can be read.
    @Test func aCapOutlivesAnOutage() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            try await pushes.database.query("ALTER FUNCTION count_app_push RENAME TO count_app_push_away")
            let free = try await pushes.accept(.init(users: [ada.id]))
            let capped = try await pushes.accept(.init(users: [ada.id])) { $0.capPerDay = 1 }
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
                try await pushes.eventually(capped, is: "queued unreadable")
                try await pushes.database.query("ALTER FUNCTION count_app_push_away RENAME TO count_app_push")
                try await pushes.eventually(capped, is: "accepted")
                try await pushes.eventually(free, is: "accepted")
            }
            #expect(pushService.sent.count == 2)
        }
    }

    /// What a request claims in the statement that keeps the push is not read from the queue.
    @Test func pushesThatAreSentWithoutALookFollowTheSameRules() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa", locale: "de", timeZone: "Asia/Tokyo")
            let template = try PushTemplateTests.template(["en": #"{"a": "Hi"}"#, "de": #"{"a": "Hallo"}"#])
            let pushService = FakePushService()
            try await pushes.sending(through: pushService, limits: TestPushes.withoutLooks) {
                let window = pushes.activity.window
                try await eventually("the sender runs") { window.room > 0 }
                func push(_ change: @escaping (inout PushRequest) -> Void) async throws -> UUID {
                    try await pushes.accept(
                        .init(users: [ada.id]), through: window, templates: PushTemplates(["hello": template])
                    ) {
                        ($0.payload, $0.template, $0.capPerDay) = (nil, .init(name: "hello"), 1)
                        change(&$0)
                    }
                }
                try await pushes.eventually(push { _ in }, is: "accepted")
                try await pushes.eventually(push { _ in }, is: "suppressed capped")
                let local = LocalTime(seconds: Int64(Date.now.timeIntervalSince1970) + 10 * 3600)
                try await pushes.eventually(push { $0.sendAtLocal = local.text }, is: "queued sendAtLocal")
            }
            #expect(pushService.sent.map { String(decoding: $0.payload, as: UTF8.self) } == [#"{"a":"Hallo"}"#])
        }
    }
}
