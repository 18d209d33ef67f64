import Foundation
import GatehouseServiceContracts
import Postgres
import Synchronization
import TestKit
import Testing

@testable import DevicesService

/// Senders with real PostgreSQL and a push service that answers as configured.
@Suite struct PushSenderTests {
    let ada = SignedIn()

    // MARK: - Sending

    @Test func aPushIsSentAsItWasAccepted() async throws {
        try await TestPushes.with { pushes in
            let phone = try await pushes.register(ada, token: "aabb")
            let push = try await pushes.accept(.init(users: [ada.id])) {
                $0.collapseId = "match"
                $0.priority = .considerate
                $0.urgency = .urgent
            }
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) { try await pushes.eventually(push, is: "accepted") }
            let sent = try #require(pushService.sent.first)
            #expect(pushService.sent.count == 1 && sent.id == PushRules.id(of: push, on: phone.id))
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
            let pushService = FakePushService()
            func acceptedAt() async throws -> Date? {
                try await pushes.database.query("SELECT apns_accepted_at FROM devices")[0].decode(Date?.self)
            }
            try await pushes.sending(through: pushService) {
                #expect(try await acceptedAt() == nil)
                try await pushes.eventually(try await pushes.accept(.init(users: [ada.id])), is: "accepted")
                let first = try await acceptedAt()
                #expect(first != nil)
                try await pushes.eventually(try await pushes.accept(.init(users: [ada.id])), is: "accepted")
                #expect(try await acceptedAt() == first)
            }
            #expect(pushService.sent.map(\.isProven) == [false, true])
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
            let (first, second) = (FakePushService(), FakePushService())
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
            let pushService = FakePushService { _ in
                inFlight.withLock { ($0.now, $0.most) = ($0.now + 1, max($0.most, $0.now + 1)) }
                for await _ in gate { break }
                inFlight.withLock { $0.now -= 1 }
                return FakePushService.accepted
            }
            try await pushes.sending(through: pushService, limits: limits) {
                try await eventually("three are in flight") { pushService.sent.count == 3 }
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
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
                try await pushes.eventually(immediate, is: "accepted")
                #expect(try await pushes.status(of: push).state == .scheduled)
                _ = try await pushes.register(ada, token: "bb")
                try await pushes.database.query("UPDATE pushes SET send_at = now() WHERE id = \(push)")
                try await pushes.eventually(push, is: "accepted", "accepted")
            }
            #expect(try await pushes.status(of: push).state == .done && pushService.sent.count == 3)
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
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
                let sent = try await push()
                #expect(sent.devices == 1 && UUID(uuidString: sent.id) != nil)
                try await eventually("it is sent") { pushService.sent.count == 1 }
            }
            #expect(
                pushService.sent[0].payload
                    == Array(#"{"aps":{"alert":{"body":"Hello","title":"Grüße"},"sound":"default"}}"#.utf8))
            #expect(pushService.sent[0].isUrgent && pushService.sent[0].topic == "com.example.app")
            _ = try await pushes.register(ada, token: "bb", bundle: "com.example.other")
            await #expect(throws: DeviceAdministration.UnknownApp.self) { try await push() }
            #expect(try await push("com.example.other").devices == 1)
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

    /// A long queue may take longer to count than a statement may.
    @Test func pushesAreSentAlthoughTheQueueCannotBeCounted() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            try await pushes.database.query("DROP FUNCTION count_waiting_push_targets(text, text, bigint)")
            try await pushes.database.query("DROP FUNCTION push_callers()")
            var limits = TestPushes.limits
            limits.surveyInterval = .zero
            try await pushes.sending(through: FakePushService(), limits: limits) {
                let push = try await pushes.accept(.init(users: [ada.id]))
                try await pushes.eventually(push, is: "accepted")
            }
        }
    }
}
