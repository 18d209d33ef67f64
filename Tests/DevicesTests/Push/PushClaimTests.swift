import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import DevicesService

/// Claims of replicas that die, and claims whose answer is lost.
@Suite struct PushClaimTests {
    let ada = SignedIn()

    // MARK: - Replicas that die

    /// As after SIGKILL: the claim stays, and its outcome is unknown.
    @Test func anotherReplicaRepeatsWhatADeadOneMayHaveSent() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            let (dead, other) = (FakePushService.silent(), FakePushService())
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
            let (dead, other) = (FakePushService.silent(), FakePushService())
            try await pushes.sending(through: dead) {
                try await eventually("it is in flight") { dead.sent.count == 1 }
            }
            try await pushes.makeDue()
            try await pushes.sending(through: other) { try await pushes.eventually(push, is: "inDoubt noAnswer") }
            #expect(other.sent.isEmpty)
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
                let pushService = FakePushService()
                pushes.activity.feedWasRead()
                try await pushes.gate("push_targets") { open in
                    let sender = pushes.sender(pushService, queue: PushQueueStore(database: pool))
                    let task = Task { await sender.run() }
                    try await eventually("the claim runs") {
                        try await pushes.database.lockWaiters(running: "claim_push_target").count == 1
                    }
                    proxy.silenceConnections()
                    try await open()
                    try await eventually("it is claimed") { try await pushes.states(of: push) == ["claimed"] }
                    #expect(pushService.sent.isEmpty)
                    proxy.sever()
                    proxy.join()
                    // The lease of 30 seconds goes on.
                    try await pushes.eventually(push, is: "accepted")
                    task.cancel()
                    await task.value
                }
                #expect(pushService.sent.count == 1)
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
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
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
            #expect(pushService.sent.count == 6)
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
}
