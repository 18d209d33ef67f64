import Contracts
import Foundation
import Postgres
import ServiceLifecycle
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// Senders with real PostgreSQL and a lane that answers as configured.
@Suite struct PushSenderTests {
    let ada = SignedIn()
    let bob = SignedIn()

    // MARK: - Sending

    @Test func aPushIsSentAsItWasAccepted() async throws {
        try await TestPushes.with { pushes in
            let phone = try await pushes.register(ada, token: "aabb")
            let push = try await pushes.accept(.init(users: [ada.id])) {
                $0.collapseId = "match"
                $0.priority = .considerate
                $0.urgency = .urgent
            }
            let lane = FakeLane()
            try await pushes.sending(through: lane) { try await pushes.eventually(push, is: "accepted") }
            let sent = try #require(lane.sent.first)
            #expect(lane.sent.count == 1 && sent.id == PushRules.id(of: push, on: phone.id))
            #expect(sent.destination == .device(PushToken(bytes: [0xAA, 0xBB])) && sent.environment == .sandbox)
            #expect(sent.topic == "com.example.app" && sent.type == .alert && sent.priority == .considerate)
            #expect(sent.collapseID == "match" && sent.isUrgent && !sent.isProven)
            #expect(sent.payload == Array(#"{"aps":{}}"#.utf8))
            let status = try await pushes.status(of: push)
            #expect(status.state == .done && status.devices.map(\.attempts) == [1])
            #expect(abs(status.expiresAt.timeIntervalSince(sent.expiresAt)) < 0.001)
        }
    }

    @Test func aTokenIsProvenByItsFirstAcceptance() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let lane = FakeLane()
            func acceptedAt() async throws -> Date? {
                try await pushes.database.query("SELECT apns_accepted_at FROM devices")[0].decode(Date?.self)
            }
            try await pushes.sending(through: lane) {
                #expect(try await acceptedAt() == nil)
                try await pushes.eventually(try await pushes.accept(.init(users: [ada.id])), is: "accepted")
                let first = try await acceptedAt()
                #expect(first != nil)
                try await pushes.eventually(try await pushes.accept(.init(users: [ada.id])), is: "accepted")
                #expect(try await acceptedAt() == first)
            }
            #expect(lane.sent.map(\.isProven) == [false, true])
        }
    }

    @Test func twoReplicasSendEachPushOnce() async throws {
        try await TestPushes.with { pushes in
            let users = (0..<20).map { _ in SignedIn() }
            for (number, user) in users.enumerated() {
                for device in 0..<5 {
                    _ = try await pushes.register(user, token: String(format: "%04x%02x", number, device))
                }
            }
            let push = try await pushes.accept(.init(users: users.map(\.id)))
            let (first, second) = (FakeLane(), FakeLane())
            try await pushes.sending(through: first) {
                try await pushes.sending(through: second, activity: PushActivity()) {
                    try await eventually("all are accepted") {
                        try await pushes.status(of: push).counts == ["accepted": 100]
                    }
                }
            }
            let ids = (first.sent + second.sent).map(\.id)
            #expect(ids.count == 100 && Set(ids).count == 100)
        }
    }

    /// What is claimed is in doubt when the process dies.
    @Test func noMoreIsClaimedThanMayBeInFlight() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<10 { _ = try await pushes.register(ada, token: String(format: "%04x", number)) }
            let push = try await pushes.accept(.init(users: [ada.id]))
            var limits = TestPushes.limits
            limits.concurrency = 3
            let (gate, open) = AsyncStream.makeStream(of: Void.self)
            let inFlight = Mutex((now: 0, most: 0))
            let lane = FakeLane { _ in
                inFlight.withLock { ($0.now, $0.most) = ($0.now + 1, max($0.most, $0.now + 1)) }
                for await _ in gate { break }
                inFlight.withLock { $0.now -= 1 }
                return FakeLane.accepted
            }
            try await pushes.sending(through: lane, limits: limits) {
                try await eventually("three are in flight") { lane.sent.count == 3 }
                #expect(try await pushes.status(of: push).counts == ["claimed": 3, "queued": 7])
                open.finish()
                try await eventually("all are accepted") {
                    try await pushes.status(of: push).counts == ["accepted": 10]
                }
            }
            #expect(inFlight.withLock { $0.most } == 3)
        }
    }

    @Test func aScheduledPushIsForTheDevicesThatAreThereWhenItIsDue() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id])) { $0.sendAt = .now + 3600 }
            let immediate = try await pushes.accept(.init(users: [ada.id]))
            let lane = FakeLane()
            try await pushes.sending(through: lane) {
                try await pushes.eventually(immediate, is: "accepted")
                #expect(try await pushes.status(of: push).state == .scheduled)
                _ = try await pushes.register(ada, token: "bb")
                try await pushes.database.query("UPDATE pushes SET send_at = now() WHERE id = \(push)")
                try await pushes.eventually(push, is: "accepted", "accepted")
            }
            #expect(try await pushes.status(of: push).state == .done && lane.sent.count == 3)
        }
    }

    @Test func anOperatorSendsANotification() async throws {
        try await TestPushes.with { pushes in
            let store = DeviceStore(database: pushes.database)
            func push(_ bundle: String? = nil) async throws -> (id: String, devices: Int) {
                try await DeviceAdministration.push(
                    to: ada.id, title: "Grüße", body: "Hello", bundleID: bundle, through: store,
                    unseen: TestPushes.unseen)
            }
            await #expect(throws: DeviceAdministration.UnknownApp.self) { try await push() }
            _ = try await pushes.register(ada, token: "aa")
            let lane = FakeLane()
            try await pushes.sending(through: lane) {
                let sent = try await push()
                #expect(sent.devices == 1 && UUID(uuidString: sent.id) != nil)
                try await eventually("it is sent") { lane.sent.count == 1 }
            }
            #expect(
                lane.sent[0].payload
                    == Array(#"{"aps":{"alert":{"body":"Hello","title":"Grüße"},"sound":"default"}}"#.utf8))
            #expect(lane.sent[0].isUrgent && lane.sent[0].topic == "com.example.app")
            _ = try await pushes.register(ada, token: "bb", bundle: "com.example.other")
            await #expect(throws: DeviceAdministration.UnknownApp.self) { try await push() }
            #expect(try await push("com.example.other").devices == 1)
        }
    }

    // MARK: - Pushes that the accepting replica sends at once

    /// A sender whose looks at the queue do not come.
    static let withoutLooks: PushSender.Limits = {
        var limits = TestPushes.limits
        (limits.interval, limits.idleInterval) = (.seconds(600), .seconds(600))
        return limits
    }()

    @Test func aPushIsSentWithoutALookAtTheQueue() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<3 { _ = try await pushes.register(ada, token: String(format: "%04x", number)) }
            let lane = FakeLane()
            try await pushes.sending(through: lane, limits: Self.withoutLooks) {
                try await eventually("the sender runs") { pushes.activity.window.room > 0 }
                let acceptance = try await pushes.store.accept(
                    TestPushes.valid(.init(users: [ada.id])), of: "orders", key: "k", hash: Data(count: 32),
                    through: pushes.activity.window)
                // Nothing waits in the queue.
                guard case .accepted(let answer, false) = acceptance, let id = answer.id.flatMap(UUID.init) else {
                    Issue.record("not accepted")
                    return
                }
                #expect(answer.devices == 3)
                try await pushes.eventually(id, is: "accepted", "accepted", "accepted")
                #expect(try await pushes.status(of: id).devices.map(\.attempts) == [1, 1, 1])
                // The request comes again.
                let again = try await pushes.store.accept(
                    TestPushes.valid(.init(users: [ada.id])), of: "orders", key: "k", hash: Data(count: 32),
                    through: pushes.activity.window)
                #expect(again == .accepted(answer, isNew: false))
                try await eventually("no room is held") { pushes.activity.window.room == 900 }
            }
            #expect(lane.sent.count == 3)
        }
    }

    /// Its lease and epoch are those of any claim.
    @Test func whatIsClaimedWithItsPushIsClaimedByNobodyElse() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let (dead, other) = (FakeLane.silent(), FakeLane())
            var push = UUID()
            try await pushes.sending(through: dead, limits: Self.withoutLooks) {
                try await eventually("the sender runs") { pushes.activity.window.room > 0 }
                push = try await pushes.accept(.init(users: [ada.id]), through: pushes.activity.window)
                try await eventually("it is in flight") { dead.sent.count == 1 }
                #expect(try await pushes.states(of: push) == ["claimed"])
                var due = try await pushes.queue.due(limit: 10)
                #expect(due.take(10).isEmpty)
            }
            try await pushes.makeDue()
            try await pushes.sending(through: other) { try await pushes.eventually(push, is: "accepted") }
            #expect(try await pushes.status(of: push).devices.map(\.attempts) == [2])
            let epochs = try await pushes.database.query("SELECT lease_epoch FROM push_targets").decode(Int.self)
            #expect(epochs == [2])
        }
    }

    /// The owner is read after the claim.
    @Test func whatIsClaimedWithItsPushIsForTheTokensOwner() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            try await pushes.registry.own(DeviceStoreTests.registration(token: "aa"), by: bob.id)
            let lane = FakeLane()
            try await pushes.sending(through: lane, limits: Self.withoutLooks) {
                try await eventually("the sender runs") { pushes.activity.window.room > 0 }
                let push = try await pushes.accept(.init(users: [ada.id]), through: pushes.activity.window)
                try await pushes.eventually(push, is: "suppressed sessionEnded")
            }
            #expect(lane.sent.isEmpty)
        }
    }

    /// A target without a stream would be in doubt if the process died.
    @Test func noMoreIsClaimedThanTheLaneHasStreams() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<10 { _ = try await pushes.register(ada, token: String(format: "%04x", number)) }
            let lane = FakeLane.silent()
            lane.streams.withLock { $0 = 2 }
            try await pushes.sending(through: lane) {
                try await eventually("the sender runs") { pushes.activity.window.room > 0 }
                let push = try await pushes.accept(.init(users: [ada.id]), through: pushes.activity.window)
                try await eventually("two are in flight") { lane.sent.count == 2 }
                #expect(try await pushes.status(of: push).counts == ["claimed": 2, "queued": 8])
                #expect(pushes.activity.window.room == 0)
            }
        }
    }

    @Test func aShutdownWaitsForRequestsThatHoldRoom() async throws {
        let window = SendWindow()
        window.open(limit: 10, lease: .seconds(30), streams: { 10 })
        let reservation = try #require(window.reserve(recipients: 1, urgency: .normal))
        window.close()
        #expect(window.reserve(recipients: 1, urgency: .urgent) == nil)
        async let next = window.next()
        window.end(reservation, nil)
        #expect(await next == nil)
    }

    @Test func roomIsSharedFairly() throws {
        let window = SendWindow()
        #expect(window.reserve(recipients: 1, urgency: .urgent) == nil)
        window.open(limit: 100, lease: .seconds(30), streams: { 1000 })
        // A tenth is left to urgent pushes.
        #expect(window.room == 90)
        let first = try #require(window.reserve(recipients: 20, urgency: .normal))
        #expect(first.targetsOfRecipient == 4 && window.room == 10)
        #expect(window.reserve(recipients: 20, urgency: .normal) == nil)
        let urgent = try #require(window.reserve(recipients: 20, urgency: .urgent))
        #expect(urgent.targetsOfRecipient == 1 && window.room == 0)
        window.end(first, nil)
        window.end(urgent, nil)
        #expect(window.room == 90)
        // Others are due.
        window.noteBacklog(true)
        #expect(window.reserve(recipients: 1, urgency: .bulk) == nil)
        #expect(window.reserve(recipients: 1, urgency: .urgent) != nil)
    }

    // MARK: - Replicas that die

    /// As after SIGKILL: the claim stays, and its outcome is unknown.
    @Test func anotherReplicaRepeatsWhatADeadOneMayHaveSent() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            let (dead, other) = (FakeLane.silent(), FakeLane())
            try await pushes.sending(through: dead) {
                try await eventually("it is in flight") { dead.sent.count == 1 }
            }
            #expect(try await pushes.states(of: push) == ["claimed"])
            try await pushes.sending(through: other) {
                let marker = try await pushes.accept(.init(users: [ada.id]))
                try await pushes.eventually(marker, is: "accepted")
                // The lease has not ended.
                #expect(try await pushes.states(of: push) == ["claimed"])
                try await pushes.makeDue()
                try await pushes.eventually(push, is: "accepted")
            }
            #expect(other.sent.last?.id == dead.sent[0].id)
            #expect(try await pushes.status(of: push).devices.map(\.attempts) == [2])
        }
    }

    @Test func aCallerMayDropWhatADeadReplicaMayHaveSent() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id])) { $0.onDoubt = .drop }
            let (dead, other) = (FakeLane.silent(), FakeLane())
            try await pushes.sending(through: dead) {
                try await eventually("it is in flight") { dead.sent.count == 1 }
            }
            try await pushes.makeDue()
            try await pushes.sending(through: other) { try await pushes.eventually(push, is: "inDoubt noAnswer") }
            #expect(other.sent.isEmpty)
        }
    }

    // MARK: - Sessions, owners, registrations

    @Test func aSessionThatEndedSinceTheAcceptanceReceivesNothing() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            let page = RevocationPage(
                entries: [
                    .init(
                        sessionID: ada.session, userID: ada.id, revokedAt: .now, accessExpiresAt: .now + 3600,
                        reason: .logout)
                ], cursor: "1", reset: false, more: false)
            #expect(try await RevokedSessionStore(database: pushes.database).apply(page, after: nil) == 1)
            let lane = FakeLane()
            try await pushes.sending(through: lane) {
                try await pushes.eventually(push, is: "suppressed sessionEnded")
            }
            #expect(lane.sent.isEmpty)
        }
    }

    /// Sessions also expire, without a revocation.
    @Test func aSessionThatExpiredReceivesNothing() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            _ = try await pushes.register(bob, token: "bb")
            pushes.sessions.state.withLock { $0.ended = [ada.session] }
            let lane = FakeLane()
            try await pushes.sending(through: lane) {
                let push = try await pushes.accept(.init(users: [ada.id, bob.id]))
                try await pushes.eventually(push, is: "suppressed sessionEnded", "accepted")
            }
            #expect(lane.sent.map(\.destination) == [.device(PushToken(bytes: [0xBB]))])
            #expect(pushes.sessions.asked == [[ada.session, bob.session]])
        }
    }

    @Test func aSessionIsLookedUpOnceInItsLifetime() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            func push() async throws {
                try await pushes.eventually(try await pushes.accept(.init(users: [ada.id])), is: "accepted")
            }
            func isKept() async throws {
                try await eventually("its end is kept") {
                    try await pushes.database.query("SELECT live_until > now() FROM devices")[0].decode(Bool?.self)
                        == true
                }
            }
            try await pushes.sending(through: FakeLane()) {
                try await push()
                try await isKept()
                try await push()
                #expect(pushes.sessions.asked.count == 1)
                try await pushes.database.query("UPDATE devices SET live_until = now()")
                try await push()
                try await isKept()
                #expect(pushes.sessions.asked.count == 2)
                // Another session of the user.
                _ = try await pushes.register(SignedIn(id: ada.id), token: "aa")
                try await push()
                #expect(pushes.sessions.asked.count == 3)
            }
        }
    }

    /// Another transaction locks the device's row, so that the end of its session cannot be stored.
    @Test func aPushDoesNotWaitUntilItsSessionsEndIsKept() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            let lane = FakeLane()
            try await pushes.database.withTransaction { transaction in
                try await transaction.query("SELECT FROM devices FOR UPDATE")
                try await pushes.sending(through: lane) {
                    try await eventually("the push is sent") { lane.sent.count == 1 }
                }
            }
            #expect(try await pushes.status(of: push).devices.count == 1)
        }
    }

    @Test func whatWasClaimedTooLongAgoIsNotSent() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            let lane = FakeLane()
            var limits = TestPushes.limits
            limits.freshness = .zero
            try await pushes.sending(through: lane, limits: limits) {
                try await pushes.eventually(push, is: "queued tooLate")
            }
            #expect(lane.sent.isEmpty)
        }
    }

    /// For as long as the revocation feed counts as known.
    @Test func withoutTokensSessionsCountAsLive() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            pushes.sessions.state.withLock { $0.isDown = true }
            try await pushes.sending(through: FakeLane()) {
                for _ in 0..<2 {
                    try await pushes.eventually(try await pushes.accept(.init(users: [ada.id])), is: "accepted")
                }
                // The second one waited for no answer.
                #expect(pushes.sessions.asked.count == 1)
            }
        }
    }

    /// The phone shows nothing of Ada's once it is Bob's, even before her registration is removed.
    @Test func aTokenThatPassedToAnotherUserReceivesNothing() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            try await pushes.registry.own(DeviceStoreTests.registration(token: "aa"), by: bob.id)
            let lane = FakeLane()
            try await pushes.sending(through: lane) {
                try await pushes.eventually(push, is: "suppressed sessionEnded")
            }
            #expect(lane.sent.isEmpty)
        }
    }

    @Test func anUnseenDeviceReceivesNothing() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            try await pushes.database.query("UPDATE devices SET last_seen_at = now() - interval '61 days'")
            let lane = FakeLane()
            try await pushes.sending(through: lane) { try await pushes.eventually(push, is: "suppressed unseen") }
            #expect(lane.sent.isEmpty)
        }
    }

    @Test func aTokenThatAppleRefusesReceivesNothingUntilItRegistersAgain() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let bad = FakeLane.refusing(400, "BadDeviceToken")
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
            try await pushes.sending(through: FakeLane()) {
                try await pushes.eventually(try await pushes.accept(.init(users: [ada.id])), is: "accepted")
            }
        }
    }

    /// Apple's time of a 410 says until when the token was valid. A later registration is valid.
    @Test(arguments: [(-3600.0, DeviceStatus.active), (3600, .invalid)])
    func aGoneTokenIsInvalidUnlessItRegisteredLater(_ since: Double, _ status: DeviceStatus) async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let lane = FakeLane.refusing(410, "Unregistered", since: .now + since)
            try await pushes.sending(through: lane) {
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
            let lane = FakeLane.refusing(410, "Unregistered", since: .now - 3600)
            try await pushes.sending(through: lane) {
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
            let lane = FakeLane { [ada, registry = pushes.registry] _ in
                if let registration = try? DeviceStoreTests.registration(token: "bb", installation: "phone") {
                    _ = try? await registry.register(registration, user: ada.id, session: ada.session)
                }
                return .answered(APNsAnswer(status: 410, reason: "Unregistered", invalidSince: .now + 60))
            }
            try await pushes.sending(through: lane) {
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
            let lane = FakeLane { push in
                guard push.destination == .device(PushToken(bytes: [0xAA])) else { return FakeLane.accepted }
                return .answered(APNsAnswer(status: 429, reason: "TooManyRequests", retryAfter: 600))
            }
            try await pushes.sending(through: lane) {
                let first = try await pushes.accept(.init(users: [ada.id]))
                try await pushes.eventually(first, is: "retryAt TooManyRequests")
                let second = try await pushes.accept(.init(users: [ada.id, bob.id]))
                try await pushes.eventually(second, is: "accepted", "queued TooManyRequests")
                #expect(lane.sent.count == 2)
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
            try await pushes.sending(through: FakeLane()) { try await pushes.eventually(push, is: "accepted") }
            #expect(try await pushes.status(of: push).devices.map(\.attempts) == [2])
        }
    }

    @Test func whatWasNeverSentExpires() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            try await pushes.expire(push)
            let lane = FakeLane()
            try await pushes.sending(through: lane) { try await pushes.eventually(push, is: "expired") }
            #expect(lane.sent.isEmpty)
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
            try await pushes.sending(through: FakeLane()) { try await pushes.eventually(push, is: "accepted") }
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

    @Test func whatWasNotSentWaitsForTheLane() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            try await pushes.sending(through: FakeLane { _ in .notSent(.noKey) }) {
                try await pushes.eventually(push, is: "queued noKey")
            }
            #expect(try await pushes.status(of: push).devices.map(\.attempts) == [0])
        }
    }

    // MARK: - Cancelling

    @Test func aCancelledPushIsNotSent() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            let scheduled = try await pushes.accept(.init(users: [ada.id])) { $0.sendAt = .now + 3600 }
            for id in [push, push, scheduled] { #expect(try await pushes.store.cancel(id, of: "orders")) }
            try await pushes.database.query("UPDATE pushes SET send_at = now() WHERE send_at IS NOT NULL")
            let lane = FakeLane()
            try await pushes.sending(through: lane) {
                let marker = try await pushes.accept(.init(users: [ada.id]))
                try await pushes.eventually(marker, is: "accepted")
            }
            #expect(lane.sent.count == 1)
            #expect(try await pushes.states(of: push) == ["cancelled"])
            #expect(try await pushes.status(of: scheduled).state == .cancelled)
            #expect(try await pushes.status(of: scheduled).devices.isEmpty)
        }
    }

    /// A push may have more targets than a request can change: PostgreSQL ends the statement here.
    @Test func whatACancellationDoesNotReachEndsWhenItIsDue() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            let log = CapturedLog()
            let store = PushStore(database: pushes.database, unseen: TestPushes.unseen, logger: log.logger)
            try await pushes.database.withTransaction { transaction in
                try await transaction.query("SELECT state FROM push_targets WHERE push_id = \(push) FOR UPDATE")
                async let isCancelled = store.cancel(push, of: "orders")
                try await pushes.database.cancelLockWaiter(running: "cancel_push_targets")
                #expect(try await isCancelled)
            }
            #expect(log.lines.count { $0.hasPrefix("error ") && $0.contains(push.uuidString.lowercased()) } == 1)
            #expect(try await pushes.status(of: push).state == .cancelled)
            #expect(try await pushes.states(of: push) == ["queued"])
            let lane = FakeLane()
            try await pushes.sending(through: lane) { try await pushes.eventually(push, is: "cancelled") }
            #expect(lane.sent.isEmpty)
        }
    }

    /// It is sent or cancelled, and the status says which.
    @Test func whatIsInFlightIsNotRepeatedOnceItIsCancelled() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            let (gate, open) = AsyncStream.makeStream(of: Void.self)
            let lane = FakeLane { _ in
                for await _ in gate {}
                return .answered(APNsAnswer(status: 503, reason: "ServiceUnavailable"))
            }
            try await pushes.sending(through: lane) {
                try await eventually("it is in flight") { lane.sent.count == 1 }
                #expect(try await pushes.store.cancel(push, of: "orders"))
                #expect(try await pushes.states(of: push) == ["claimed"])
                open.finish()
                try await pushes.eventually(push, is: "retryAt ServiceUnavailable")
                try await pushes.makeDue()
                try await pushes.eventually(push, is: "cancelled")
            }
            #expect(lane.sent.count == 1)
        }
    }

    @Test func cancellingRacesWithSending() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<20 { _ = try await pushes.register(ada, token: String(format: "%04x", number)) }
            let lane = FakeLane()
            try await pushes.sending(through: lane) {
                for _ in 0..<5 {
                    let push = try await pushes.accept(.init(users: [ada.id]))
                    #expect(try await pushes.store.cancel(push, of: "orders"))
                    try await eventually("all have ended") {
                        let counts = try await pushes.status(of: push).counts
                        return Set(counts.keys).isSubset(of: ["accepted", "cancelled"])
                    }
                }
            }
            let accepted = try await pushes.database.query(
                "SELECT count(*) FROM push_targets WHERE state = 'accepted'")[0].decode(Int.self)
            #expect(lane.sent.count == accepted)
        }
    }

    // MARK: - The revocation feed, the shutdown

    /// Without tokens' answer sessions count as live for a time. Then pushes wait for it.
    @Test func nothingIsSentToSessionsThatTokensHasNotAnsweredFor() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let (lane, sessions) = (FakeLane(), FakeSessions())
            sessions.state.withLock { $0.isDown = true }
            let liveness = SessionLiveness(maximumStaleness: .zero, sessions.read)
            pushes.activity.feedWasRead()
            let task = Task { await pushes.sender(lane, liveness: liveness).run() }
            let push = try await pushes.accept(.init(users: [ada.id]))
            try await eventually("it waits") {
                try await pushes.status(of: push).devices.map(\.reason) == ["sessionUnknown"]
            }
            #expect(lane.sent.isEmpty)
            sessions.state.withLock { $0.isDown = false }
            try await pushes.eventually(push, is: "accepted")
            task.cancel()
            await task.value
        }
    }

    /// Its row is broken.
    @Test func aScheduledPushThatCannotStartHoldsUpNoOther() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let broken = try await pushes.accept(.init(users: [ada.id])) { $0.sendAt = .now + 3600 }
            try await pushes.database.query(
                "UPDATE pushes SET rate_per_minute = 0, send_at = now() - interval '1 hour' WHERE id = \(broken)")
            let starter = pushes.starter
            await #expect(throws: PushStarter.StepFailure.self) { try await starter.step() }
            // It waits alone.
            #expect(try await starter.step() == .nothingDue)
            let push = try await pushes.accept(.init(users: [ada.id])) { $0.sendAt = .now + 3600 }
            try await pushes.database.query("UPDATE pushes SET send_at = now() WHERE id = \(push)")
            #expect(try await starter.step() == .added)
            #expect(try await pushes.status(of: push).state == .sending)
        }
    }

    /// A session's end could be unknown.
    @Test func nothingIsSentWithoutTheRevocationFeed() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let lane = FakeLane()
            var limits = TestPushes.limits
            limits.surveyInterval = .zero
            let sender = pushes.sender(lane, limits: limits)
            let task = Task { await sender.run() }
            // The sender learns of them by surveys, a look apart.
            var push = UUID()
            for count in 1...3 {
                let acceptance = try await pushes.store.accept(
                    TestPushes.valid(.init(users: [ada.id])), of: "orders", key: nil, hash: Data(count: 32))
                if case .accepted(let answer, _) = acceptance { push = UUID(uuidString: answer.id ?? "") ?? push }
                try await eventually("the queue is surveyed") {
                    pushes.activity.queueLoad(of: "orders").devices == count
                }
            }
            #expect(lane.sent.isEmpty)
            pushes.activity.feedWasRead()
            try await pushes.eventually(push, is: "accepted")
            task.cancel()
            await task.value
        }
    }

    /// A long queue may take longer to count than a statement may.
    @Test func pushesAreSentAlthoughTheQueueCannotBeCounted() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            try await pushes.database.query("DROP FUNCTION count_waiting_push_targets(text, text, bigint)")
            try await pushes.database.query("DROP FUNCTION push_callers()")
            var limits = TestPushes.limits
            limits.surveyInterval = .zero
            try await pushes.sending(through: FakeLane(), limits: limits) {
                let push = try await pushes.accept(.init(users: [ada.id]))
                try await pushes.eventually(push, is: "accepted")
            }
        }
    }

    @Test func theFeedAgesFromItsLastPage() {
        let activity = PushActivity()
        #expect(!activity.isFeedFresh(within: .seconds(60)))
        activity.feedWasRead()
        #expect(activity.isFeedFresh(within: .seconds(60)) && !activity.isFeedFresh(within: .zero))
        #expect(!activity.isPending)
        activity.accepted(QueueLoad(devices: 1), of: "orders")
        #expect(activity.isPending)
    }

    /// Apple's time of a 410 is one that PostgreSQL refuses. It ends alone: later outcomes are recorded, nothing is sent
    /// again, and the sender stops.
    @Test(arguments: [9e15, 1e13])
    func anOutcomeThatPostgreSQLRefusesHoldsUpNoOther(_ since: Double) async throws {
        try await TestPushes.with { pushes in
            for token in ["aa", "bb", "cc", "dd", "ee"] { _ = try await pushes.register(ada, token: token) }
            let lane = FakeLane { push in
                guard push.destination == .device(PushToken(bytes: [0xCC])) else { return FakeLane.accepted }
                let time = Date(timeIntervalSince1970: since)
                return .answered(APNsAnswer(status: 410, reason: "Unregistered", invalidSince: time))
            }
            pushes.activity.feedWasRead()
            let sender = pushes.sender(lane)
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
            #expect(lane.sent.count == 10)
            #expect(pushes.log.lines.count { $0.hasPrefix("error ") && $0.contains("cannot be recorded") } == 2)
        }
    }

    /// One device's row is refused whatever became of it. It keeps its claim until its lease ends, and holds up no other.
    @Test func aRowThatPostgreSQLNeverTakesHoldsUpNoOther() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let refused = try await pushes.register(ada, token: "bb")
            try await pushes.database.query(
                """
                ALTER TABLE push_targets ADD CHECK (
                    device_id <> '\(unescaped: "\(refused.id)")' OR state IN ('queued', 'claimed'))
                """)
            let lane = FakeLane()
            try await pushes.sending(through: lane) {
                for count in 1...2 {
                    let push = try await pushes.accept(.init(users: [ada.id]))
                    try await pushes.eventually(push, is: "accepted", "claimed")
                    try await eventually("its place is free") { pushes.activity.window.room == 900 }
                    #expect(lane.sent.count == 2 * count)
                }
            }
        }
    }

    // MARK: - Claims without an answer

    /// PostgreSQL has claimed the push, and the link breaks before its answer comes. Nothing was sent, so the push is
    /// neither in doubt nor an attempt.
    @Test func aClaimWhoseAnswerIsLostIsGivenBack() async throws {
        try await TestPushes.with { pushes, url in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id])) { $0.onDoubt = .drop }
            try await TestPushes.withLink(to: url) { proxy, pool in
                let lane = FakeLane()
                pushes.activity.feedWasRead()
                try await pushes.gate("push_targets") { open in
                    let sender = pushes.sender(lane, queue: PushQueueStore(database: pool))
                    let task = Task { await sender.run() }
                    try await eventually("the claim runs") {
                        try await pushes.database.lockWaiters(running: "claim_push_target").count == 1
                    }
                    proxy.silenceConnections()
                    try await open()
                    try await eventually("it is claimed") { try await pushes.states(of: push) == ["claimed"] }
                    #expect(lane.sent.isEmpty)
                    proxy.sever()
                    proxy.join()
                    // The lease of 30 seconds goes on.
                    try await pushes.eventually(push, is: "accepted")
                    task.cancel()
                    await task.value
                }
                #expect(lane.sent.count == 1)
                #expect(try await pushes.status(of: push).devices.map(\.attempts) == [1])
            }
        }
    }

    /// As above, of a request that claims for the sender.
    @Test func anAcceptanceWhoseAnswerIsLostIsGivenBack() async throws {
        try await TestPushes.with { pushes, url in
            for number in 0..<6 { _ = try await pushes.register(ada, token: String(format: "%04x", number)) }
            let valid = try TestPushes.valid(.init(users: [ada.id])) { $0.onDoubt = .drop }
            let window = pushes.activity.window
            let lane = FakeLane()
            try await pushes.sending(through: lane) {
                try await eventually("the sender runs") { window.room > 0 }
                try await TestPushes.withLink(to: url, connections: 1) { proxy, pool in
                    let store = PushStore(database: pool, unseen: TestPushes.unseen, logger: .quiet)
                    proxy.cut(afterBytesFromServer: 1)
                    await #expect(throws: PostgresError.self) {
                        _ = try await store.accept(
                            valid, of: TestPushes.caller, key: "k", hash: Data(count: 32), through: window)
                    }
                }
                var push: UUID?
                try await eventually("PostgreSQL has the push") {
                    push = try await pushes.database.query("SELECT id FROM pushes").decode(UUID.self).first
                    return push != nil
                }
                let id = try #require(push)
                try await eventually("all are accepted") { try await pushes.status(of: id).counts == ["accepted": 6] }
                #expect(try await pushes.status(of: id).devices.allSatisfy { $0.attempts == 1 })
                #expect(window.room == 900)
            }
            #expect(lane.sent.count == 6)
        }
    }

    /// What a dead replica may have sent stays in doubt when its successor's claim is given back.
    @Test func aTakeoverThatIsGivenBackStaysOne() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            _ = try await pushes.accept(.init(users: [ada.id]))
            var due = try await pushes.queue.due(limit: 1)
            let targets = due.take(1)
            func claim() async throws -> (id: UUID, claim: ClaimedTarget?) {
                let id = UUID()
                return (id, try await pushes.queue.claim(targets, as: id, lease: .seconds(30)).first)
            }
            let dead = try await claim()
            #expect(dead.claim?.isTakeover == false)
            try await pushes.makeDue()
            let second = try await claim()
            #expect(second.claim?.isTakeover == true && second.claim?.attempts == 1)
            // The dead one's claim is no more its own.
            #expect(try await pushes.queue.release(.targets(targets, id: dead.id)) == 0)
            #expect(try await pushes.queue.release(.targets(targets, id: second.id)) == 1)
            #expect(try await pushes.queue.release(.targets(targets, id: second.id)) == 0)
            let third = try await claim()
            #expect(third.claim?.isTakeover == true && third.claim?.attempts == 1)
            // The second one reports late.
            let outcome = DeliveryDecision(state: .accepted)
            let late = try #require(second.claim)
            #expect(try await pushes.queue.record([ClaimOutcome(claim: late, decision: outcome)]) == [false])
        }
    }

    /// Another replica has claimed other devices of the same new push from the queue.
    @Test func whatOthersHaveClaimedOfANewPushStays() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<3 { _ = try await pushes.register(ada, token: String(format: "%04x", number)) }
            let window = SendWindow()
            window.open(limit: 10, lease: .seconds(30), streams: { 1 })
            let push = try await pushes.accept(.init(users: [ada.id]), through: window)
            #expect(try await pushes.status(of: push).counts == ["claimed": 1, "queued": 2])
            var due = try await pushes.queue.due(limit: 1)
            #expect(try await pushes.queue.claim(due.take(1), lease: .seconds(30)).count == 1)
            try await pushes.database.query(
                """
                SELECT claim_push_target_as(bucket, push_id, device_id, 30, gen_random_uuid()) FROM push_targets
                WHERE state = 'queued'
                """)
            #expect(try await pushes.status(of: push).counts == ["claimed": 3])
            let extent = LostClaim.Extent.accepted(push: push, buckets: [Bucket(user: ada.id)])
            #expect(try await pushes.queue.release(extent) == 1)
            #expect(try await pushes.status(of: push).counts == ["claimed": 2, "queued": 1])
        }
    }

    // MARK: - Outages

    /// PostgreSQL refuses for a moment: the outcome is recorded when it is back.
    @Test func anOutcomeOutlivesAnOutage() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            let database = pushes.database
            let lane = FakeLane { _ in
                _ = try? await database.query(
                    "ALTER FUNCTION record_push_outcome RENAME TO record_push_outcome_away")
                return FakeLane.accepted
            }
            try await pushes.sending(through: lane) {
                try await eventually("it is sent") { lane.sent.count == 1 }
                #expect(try await pushes.states(of: push) == ["claimed"])
                try await eventually("the function is away, and then back") {
                    (try? await database.query(
                        "ALTER FUNCTION record_push_outcome_away RENAME TO record_push_outcome")) != nil
                }
                try await pushes.eventually(push, is: "accepted")
            }
            #expect(lane.sent.count == 1)
        }
    }
}
