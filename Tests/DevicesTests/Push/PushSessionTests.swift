import Foundation
import GatehouseServiceContracts
import Postgres
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// A push is for a session's device: what its end, its owner's change or an unknown state do to it.
@Suite struct PushSessionTests {
    let ada = SignedIn()
    let bob = SignedIn()

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
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
                try await pushes.eventually(push, is: "suppressed sessionEnded")
            }
            #expect(pushService.sent.isEmpty)
        }
    }

    /// Sessions also expire, without a revocation.
    @Test func aSessionThatExpiredReceivesNothing() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            _ = try await pushes.register(bob, token: "bb")
            pushes.sessions.state.withLock { $0.ended = [ada.session] }
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
                let push = try await pushes.accept(.init(users: [ada.id, bob.id]))
                try await pushes.eventually(push, is: "suppressed sessionEnded", "accepted")
            }
            #expect(pushService.sent.map(\.destination) == [.device(PushToken(bytes: [0xBB]))])
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
            try await pushes.sending(through: FakePushService()) {
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
            let pushService = FakePushService()
            try await pushes.database.withTransaction { transaction in
                try await transaction.query("SELECT FROM devices FOR UPDATE")
                try await pushes.sending(through: pushService) {
                    try await eventually("the push is sent") { pushService.sent.count == 1 }
                }
            }
            #expect(try await pushes.status(of: push).devices.count == 1)
        }
    }

    @Test func whatWasClaimedTooLongAgoIsNotSent() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            let pushService = FakePushService()
            var limits = TestPushes.limits
            limits.freshness = .zero
            try await pushes.sending(through: pushService, limits: limits) {
                try await pushes.eventually(push, is: "queued tooLate")
            }
            #expect(pushService.sent.isEmpty)
        }
    }

    /// For as long as the revocation feed counts as known.
    @Test func withoutTokensSessionsCountAsLive() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            pushes.sessions.state.withLock { $0.isDown = true }
            try await pushes.sending(through: FakePushService()) {
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
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
                try await pushes.eventually(push, is: "suppressed sessionEnded")
            }
            #expect(pushService.sent.isEmpty)
        }
    }

    @Test func anUnseenDeviceReceivesNothing() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            try await pushes.database.query("UPDATE devices SET last_seen_at = now() - interval '61 days'")
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
                try await pushes.eventually(push, is: "suppressed unseen")
            }
            #expect(pushService.sent.isEmpty)
        }
    }

    /// Without tokens' answer sessions count as live for a time. Then pushes wait for it.
    @Test func nothingIsSentToSessionsThatTokensHasNotAnsweredFor() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let (pushService, sessions) = (FakePushService(), FakeSessions())
            sessions.state.withLock { $0.isDown = true }
            let liveness = SessionLiveness(maximumStaleness: .zero, sessions.read)
            pushes.activity.feedWasRead()
            let task = Task { await pushes.sender(pushService, liveness: liveness).run() }
            let push = try await pushes.accept(.init(users: [ada.id]))
            try await eventually("it waits") {
                try await pushes.status(of: push).devices.map(\.reason) == ["sessionUnknown"]
            }
            #expect(pushService.sent.isEmpty)
            sessions.state.withLock { $0.isDown = false }
            try await pushes.eventually(push, is: "accepted")
            task.cancel()
            await task.value
        }
    }

    /// A session's end could be unknown.
    @Test func nothingIsSentWithoutTheRevocationFeed() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let pushService = FakePushService()
            var limits = TestPushes.limits
            limits.surveyInterval = .zero
            let sender = pushes.sender(pushService, limits: limits)
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
            #expect(pushService.sent.isEmpty)
            pushes.activity.feedWasRead()
            try await pushes.eventually(push, is: "accepted")
            task.cancel()
            await task.value
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
}
