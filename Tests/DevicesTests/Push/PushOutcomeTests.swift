import Foundation
import GatehouseServiceContracts
import Postgres
import ServiceLifecycle
import TestKit
import Testing

@testable import DevicesService

/// What Apple's answers do to tokens and pushes: repetition, expiry, dead letters, outcomes that cannot be recorded.
@Suite struct PushOutcomeTests {
    let ada = SignedIn()
    let bob = SignedIn()

    @Test("Apple refuses a token: it receives nothing until it is registered again")
    func refusedTokens() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let bad = FakePushService.refusing(400, "BadDeviceToken")
            try await pushes.sending(through: bad) {
                for _ in 0..<2 {
                    let push = try await pushes.accept(.init(users: [ada.id]))
                    try await pushes.eventually(push, is: "rejected BadDeviceToken")
                }
            }
            #expect(bad.sent.count == 1)
            #expect(try await pushes.registry.devices(of: ada.id).map(\.status) == [.invalid])
            // Nothing has changed, and the last registration was moments ago.
            _ = try await pushes.register(ada, token: "aa")
            #expect(try await pushes.registry.devices(of: ada.id).map(\.status) == [.active])
            try await pushes.sending(through: FakePushService()) {
                try await pushes.eventually(try await pushes.accept(.init(users: [ada.id])), is: "accepted")
            }
        }
    }

    /// Apple's time of a 410 says until when the token was valid. A later registration is valid.
    @Test(arguments: [(-3600.0, DeviceStatus.active), (3600, .invalid)])
    func aGoneTokenIsInvalidUnlessItRegisteredLater(_ since: Double, _ status: DeviceStatus) async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let pushService = FakePushService.refusing(410, "Unregistered", since: .now + since)
            try await pushes.sending(through: pushService) {
                try await pushes.eventually(
                    try await pushes.accept(.init(users: [ada.id])), is: "rejected Unregistered")
            }
            #expect(try await pushes.registry.devices(of: ada.id).map(\.status) == [status])
        }
    }

    /// The app has started again since, with the same token.
    @Test func anUnchangedRegistrationIsLaterThanApplesTimeToo() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            try await pushes.database.query("UPDATE devices SET last_seen_at = now() - interval '2 hours'")
            _ = try await pushes.register(ada, token: "aa")
            let pushService = FakePushService.refusing(410, "Unregistered", since: .now - 3600)
            try await pushes.sending(through: pushService) {
                try await pushes.eventually(
                    try await pushes.accept(.init(users: [ada.id])), is: "rejected Unregistered")
            }
            #expect(try await pushes.registry.devices(of: ada.id).map(\.status) == [.active])
        }
    }

    /// The installation has a new token, and keeps its id.
    @Test func anAnswerConcernsTheTokenThatWasSentTo() async throws {
        try await TestPushes.with { pushes in
            func register(_ token: String) async throws {
                let registration = try DeviceStoreTests.registration(token: token, installation: "phone")
                #expect(
                    try await pushes.registry.register(registration, user: ada.id, session: ada.session) != nil)
            }
            try await register("aa")
            let pushService = FakePushService { [ada, registry = pushes.registry] _ in
                if let registration = try? DeviceStoreTests.registration(token: "bb", installation: "phone") {
                    _ = try? await registry.register(registration, user: ada.id, session: ada.session)
                }
                return .answered(APNsAnswer(status: 410, reason: "Unregistered", invalidSince: .now + 60))
            }
            try await pushes.sending(through: pushService) {
                try await pushes.eventually(
                    try await pushes.accept(.init(users: [ada.id])), is: "rejected Unregistered")
            }
            #expect(try await pushes.registry.devices(of: ada.id).map(\.status) == [.active])
            #expect(try await pushes.registry.tokens() == [PushToken(bytes: [0xBB])])
        }
    }

    @Test func aDeviceWithTooManyRequestsIsPausedAlone() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            _ = try await pushes.register(bob, token: "bb")
            let pushService = FakePushService { push in
                guard push.destination == .device(PushToken(bytes: [0xAA])) else { return FakePushService.accepted }
                return .answered(APNsAnswer(status: 429, reason: "TooManyRequests", retryAfter: 600))
            }
            try await pushes.sending(through: pushService) {
                let first = try await pushes.accept(.init(users: [ada.id]))
                try await pushes.eventually(first, is: "retryAt TooManyRequests")
                let second = try await pushes.accept(.init(users: [ada.id, bob.id]))
                try await pushes.eventually(second, is: "accepted", "queued TooManyRequests")
                #expect(pushService.sent.count == 2)
            }
        }
    }

    // MARK: - Repetition, expiry, dead letters

    @Test func whatAppleCannotTakeIsRepeatedLater() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            try await pushes.sending(through: .refusing(503, "ServiceUnavailable")) {
                try await pushes.eventually(push, is: "retryAt ServiceUnavailable")
            }
            let due = try await pushes.database.query("SELECT due_at FROM push_targets")[0].decode(Date.self)
            #expect(due.timeIntervalSinceNow > 800 && due.timeIntervalSinceNow < 1200)
            try await pushes.makeDue()
            try await pushes.sending(through: FakePushService()) { try await pushes.eventually(push, is: "accepted") }
            #expect(try await pushes.status(of: push).devices.map(\.attempts) == [2])
        }
    }

    @Test func whatWasNeverSentExpires() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            try await pushes.expire(push)
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) { try await pushes.eventually(push, is: "expired") }
            #expect(pushService.sent.isEmpty)
            #expect(try await pushes.store.dead(of: "orders", after: nil).entries.isEmpty)
        }
    }

    @Test func aDeadLetterIsListedAndReplayed() async throws {
        try await TestPushes.with { pushes in
            let phone = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            try await pushes.sending(through: .refusing(500, "InternalServerError")) {
                try await pushes.eventually(push, is: "retryAt InternalServerError")
                try await pushes.expire(push)
                try await pushes.eventually(push, is: "dead InternalServerError")
            }
            let entry = try #require(try await pushes.store.dead(of: "orders", after: nil).entries.first)
            #expect(entry.push == push && entry.device == phone.id && entry.attempts == 1)
            #expect(entry.reason == "InternalServerError")
            let after = DeadCursor(push: push, device: phone.id)
            #expect(try await pushes.store.dead(of: "orders", after: after).entries.isEmpty)
            #expect(try await pushes.store.dead(of: "chat", after: nil).entries.isEmpty)

            #expect(try await pushes.store.replay(push, of: "orders", until: .now + 3600) == 1)
            #expect(try await pushes.store.replay(push, of: "orders", until: .now + 3600) == 0)
            try await pushes.sending(through: FakePushService()) { try await pushes.eventually(push, is: "accepted") }
            #expect(try await pushes.store.dead(of: "orders", after: nil).entries.isEmpty)
        }
    }

    /// A push may have more dead letters than a request can queue: PostgreSQL ends the last statement here.
    @Test func whatAReplayDoesNotReachStaysADeadLetter() async throws {
        try await TestPushes.with { pushes in
            // In more buckets than one statement changes.
            let targets = try await pushes.insertUsers(32, devices: 1)
            let push = try await pushes.accept(.init(users: targets))
            try await pushes.database.query("UPDATE push_targets SET state = 'dead', due_at = NULL")
            let log = CapturedLog()
            let store = PushStore(database: pushes.database, unseen: TestPushes.unseen, logger: log.logger)
            let count: Int? = try await pushes.database.withTransaction { transaction in
                try await transaction.query("SELECT state FROM push_targets ORDER BY bucket DESC LIMIT 1 FOR UPDATE")
                async let replayed = store.replay(push, of: "orders", until: .now + 3600)
                try await pushes.database.cancelLockWaiter(running: "replay_push_targets")
                return try await replayed
            }
            let first = try #require(count)
            #expect(first > 0 && first < targets.count)
            #expect(log.lines.count { $0.hasPrefix("error ") && $0.contains(push.uuidString.lowercased()) } == 1)
            #expect(try await store.replay(push, of: "orders", until: .now + 3600) == targets.count - first)
        }
    }

    @Test func whatWasNotSentWaitsForThePushService() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            try await pushes.sending(through: FakePushService { _ in .notSent(.noKey) }) {
                try await pushes.eventually(push, is: "queued noKey")
            }
            #expect(try await pushes.status(of: push).devices.map(\.attempts) == [0])
        }
    }

    /// Apple's time of a 410 is one that PostgreSQL refuses. It ends alone: later outcomes are recorded, nothing is
    /// sent again, and the sender stops.
    @Test(
        "PostgreSQL refuses an outcome: the push ends as not recorded, and the others are recorded",
        arguments: [9e15, 1e13])
    func refusedOutcomes(_ since: Double) async throws {
        try await TestPushes.with { pushes in
            for token in ["aa", "bb", "cc", "dd", "ee"] { _ = try await pushes.register(ada, token: token) }
            let pushService = FakePushService { push in
                guard push.destination == .device(PushToken(bytes: [0xCC])) else { return FakePushService.accepted }
                let time = Date(timeIntervalSince1970: since)
                return .answered(APNsAnswer(status: 410, reason: "Unregistered", invalidSince: time))
            }
            pushes.activity.feedWasRead()
            let sender = pushes.sender(pushService)
            let service = ServiceGroup(services: [sender], logger: .quiet)
            let task = Task { try await service.run() }
            for _ in 0..<2 {
                let push = try await pushes.accept(.init(users: [ada.id]))
                try await pushes.eventually(
                    push, is: "accepted", "accepted", "accepted", "accepted", "rejected notRecorded")
                #expect(try await pushes.status(of: push).devices.map(\.attempts) == [1, 1, 1, 1, 1])
            }
            #expect(pushes.activity.window.room == 900)
            await service.triggerGracefulShutdown()
            try await task.value
            #expect(pushService.sent.count == 10)
            #expect(pushes.log.lines.count { $0.hasPrefix("error ") && $0.contains("cannot be recorded") } == 2)
        }
    }

    /// One device's row is refused whatever became of it. It keeps its claim until its lease ends, and holds up no
    /// other.
    @Test func aRowThatPostgreSQLNeverTakesHoldsUpNoOther() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let refused = try await pushes.register(ada, token: "bb")
            try await pushes.database.query(
                """
                ALTER TABLE push_targets ADD CHECK (
                    device_id <> '\(unescaped: "\(refused.id)")' OR state IN ('queued', 'claimed'))
                """)
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
                for count in 1...2 {
                    let push = try await pushes.accept(.init(users: [ada.id]))
                    try await pushes.eventually(push, is: "accepted", "claimed")
                    try await eventually("its permit is free") { pushes.activity.window.room == 900 }
                    #expect(pushService.sent.count == 2 * count)
                }
            }
        }
    }

    // MARK: - Outages

    /// PostgreSQL refuses for a moment: the outcome is recorded when it is back.
    @Test func anOutcomeOutlivesAnOutage() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            let database = pushes.database
            let pushService = FakePushService { _ in
                _ = try? await database.query(
                    "ALTER FUNCTION record_push_outcome RENAME TO record_push_outcome_away")
                return FakePushService.accepted
            }
            try await pushes.sending(through: pushService) {
                try await eventually("it is sent") { pushService.sent.count == 1 }
                #expect(try await pushes.states(of: push) == ["claimed"])
                try await eventually("the function is away, and then back") {
                    (try? await database.query(
                        "ALTER FUNCTION record_push_outcome_away RENAME TO record_push_outcome")) != nil
                }
                try await pushes.eventually(push, is: "accepted")
            }
            #expect(pushService.sent.count == 1)
        }
    }
}
