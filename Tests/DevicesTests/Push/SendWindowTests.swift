import Foundation
import GatehouseServiceContracts
import Postgres
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// Pushes that the accepting replica sends at once, without a look at the queue.
@Suite struct SendWindowTests {
    let ada = SignedIn()
    let bob = SignedIn()

    @Test func aPushIsSentWithoutALookAtTheQueue() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<3 { _ = try await pushes.register(ada, token: String(format: "%04x", number)) }
            let pushService = FakePushService()
            try await pushes.sending(through: pushService, limits: TestPushes.withoutLooks) {
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
            #expect(pushService.sent.count == 3)
        }
    }

    /// Its lease and epoch are those of any claim.
    @Test("A push is claimed when it is accepted: no other replica claims it before its lease ends")
    func claimAtAcceptance() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let (dead, other) = (FakePushService.silent(), FakePushService())
            var push = UUID()
            try await pushes.sending(through: dead, limits: TestPushes.withoutLooks) {
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
    @Test("A token changes its owner before the claim: the push is suppressed")
    func ownerAtTheClaim() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            try await pushes.registry.own(DeviceStoreTests.registration(token: "aa"), by: bob.id)
            let pushService = FakePushService()
            try await pushes.sending(through: pushService, limits: TestPushes.withoutLooks) {
                try await eventually("the sender runs") { pushes.activity.window.room > 0 }
                let push = try await pushes.accept(.init(users: [ada.id]), through: pushes.activity.window)
                try await pushes.eventually(push, is: "suppressed sessionEnded")
            }
            #expect(pushService.sent.isEmpty)
        }
    }

    /// A target without a stream would be in doubt if the process died.
    @Test func noMoreIsClaimedThanThePushServiceHasStreams() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<10 { _ = try await pushes.register(ada, token: String(format: "%04x", number)) }
            let pushService = FakePushService.silent()
            pushService.streams.withLock { $0 = 2 }
            try await pushes.sending(through: pushService) {
                try await eventually("the sender runs") { pushes.activity.window.room > 0 }
                let push = try await pushes.accept(.init(users: [ada.id]), through: pushes.activity.window)
                try await eventually("two are in flight") { pushService.sent.count == 2 }
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
}
