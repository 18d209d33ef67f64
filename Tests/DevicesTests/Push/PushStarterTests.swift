import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import DevicesService

/// Pushes that get their targets in steps.
@Suite struct PushStarterTests {
    private func acceptance(_ targets: PushRequest.Targets, in pushes: TestPushes, key: String = UUID().uuidString)
        async throws -> PushAccepted
    {
        let acceptance = try await pushes.store.accept(
            TestPushes.valid(targets), of: TestPushes.caller, key: key, hash: Data(count: 32))
        guard case .accepted(let answer, _) = acceptance else { throw TestKitError("not accepted") }
        return answer
    }

    private func id(_ answer: PushAccepted) throws -> UUID { try #require(answer.id.flatMap(UUID.init(uuidString:))) }

    /// One statement would take longer than it may.
    @Test func aLargePushIsAcceptedWithOneRowAndAddedInSteps() async throws {
        try await TestPushes.with { pushes in
            let users = try await pushes.insertUsers(120, devices: 2)
            let answer = try await acceptance(.init(users: users), in: pushes, key: "k")
            #expect(answer.devices == nil)
            #expect(try await pushes.registry.count("push_targets") == 0)
            let push = try id(answer)
            let before = try await pushes.status(of: push)
            #expect(before.state == .sending && before.counts.isEmpty && before.sendAt == nil)
            // Its recipients count until their devices do.
            #expect(try await pushes.queue.survey(limit: 1000).load(of: TestPushes.caller).devices == 120)
            #expect(try await pushes.starter.step() == .added)
            #expect(try await pushes.status(of: push).counts == ["queued": 100])
            // The replica dies: another one goes on.
            #expect(try await pushes.startDue() == 2)
            let status = try await pushes.status(of: push)
            #expect(status.state == .sending && status.counts == ["queued": 240] && status.sendAt == nil)
            #expect(try await pushes.queue.survey(limit: 1000).load(of: TestPushes.caller) == QueueLoad(devices: 240))
            #expect(try await acceptance(.init(users: users), in: pushes, key: "k") == answer)
            #expect(try await pushes.startDue() == 0)
        }
    }

    /// Nothing of it stays.
    @Test func aStepThatDiesIsRepeatedAsAWhole() async throws {
        try await TestPushes.with { pushes in
            let users = try await pushes.insertUsers(120, devices: 1)
            let push = try id(try await acceptance(.init(users: users), in: pushes))
            _ = try? await pushes.database.withTransaction { transaction in
                let (isFound, devices) = try await PushStarter.addRecipients(of: push, on: transaction)
                #expect(isFound && devices == 50)
                // Another replica leaves the push to this one.
                #expect(try await pushes.starter.step() == .busy)
                throw CancellationError()
            }
            #expect(try await pushes.status(of: push).counts.isEmpty)
            #expect(try await pushes.startDue() == 3)
            #expect(try await pushes.status(of: push).counts == ["queued": 120])
        }
    }

    @Test func aLargePushIsSentAndDone() async throws {
        try await TestPushes.with { pushes in
            let ada = SignedIn()
            _ = try await pushes.register(ada, token: "aa")
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
                let push = try id(
                    try await acceptance(.init(users: [ada.id] + (0..<120).map { _ in UUID() }), in: pushes))
                pushes.activity.acceptedUnstarted()
                try await eventually("it is done") { try await pushes.status(of: push).state == .done }
                #expect(try await pushes.status(of: push).counts == ["accepted": 1] && pushService.sent.count == 1)
            }
        }
    }

    @Test func aPushIsCancelledBetweenTwoSteps() async throws {
        try await TestPushes.with { pushes in
            let users = try await pushes.insertUsers(120, devices: 1)
            let push = try id(try await acceptance(.init(users: users), in: pushes))
            #expect(try await pushes.starter.step() == .added)
            #expect(try await pushes.store.cancel(push, of: TestPushes.caller))
            #expect(try await pushes.startDue() == 0)
            let status = try await pushes.status(of: push)
            #expect(status.state == .cancelled && status.counts == ["cancelled": 50])
        }
    }

    @Test func deadLettersAreReplayedBetweenTwoSteps() async throws {
        try await TestPushes.with { pushes in
            let users = try await pushes.insertUsers(120, devices: 1)
            let push = try id(try await acceptance(.init(users: users), in: pushes))
            #expect(try await pushes.starter.step() == .added)
            try await pushes.database.query("UPDATE push_targets SET state = 'dead', due_at = NULL")
            #expect(try await pushes.store.replay(push, of: TestPushes.caller, until: .now + 60) == 50)
        }
    }

    @Test func aRateHoldsOverSteps() async throws {
        try await TestPushes.with { pushes in
            let users = try await pushes.insertUsers(110, devices: 2)
            _ = try await pushes.accept(.init(users: users)) { $0.ratePerMinute = 60 }
            #expect(try await pushes.startDue() == 3)
            let due = try await pushes.database.query("SELECT due_at FROM push_targets ORDER BY due_at").decode(
                Date.self)
            #expect(due.count == 220)
            for (one, next) in zip(due, due.dropFirst()) { #expect(abs(next.timeIntervalSince(one) - 1) < 0.01) }
        }
    }

    /// Many of one caller were due before.
    @Test func anotherCallersUrgentPushStartsWithTheNextStep() async throws {
        try await TestPushes.with { pushes in
            let users = try await pushes.insertUsers(120, devices: 1)
            for _ in 0..<5 { _ = try await pushes.accept(.init(users: users), of: "news") { $0.sendAt = .now + 3600 } }
            try await pushes.database.query("UPDATE pushes SET send_at = now() - interval '1 hour'")
            let starter = pushes.starter
            #expect(try await starter.step() == .added)
            let urgent = try await pushes.accept(.init(users: [users[0]]), of: "chat") {
                $0.sendAt = .now + 3600
                $0.urgency = .urgent
            }
            let normal = try await pushes.accept(.init(users: [users[0]]), of: "chat") { $0.sendAt = .now + 3600 }
            try await pushes.database.query(
                "UPDATE pushes SET send_at = now() WHERE id = ANY (\([urgent, normal]))")
            func isStarted(_ push: UUID) async throws -> Bool {
                try await pushes.database.query("SELECT state = 'sending' FROM pushes WHERE id = \(push)")[0].decode(
                    Bool.self)
            }
            #expect(try await starter.step() == .added)
            #expect(try await isStarted(urgent))
            #expect(try await starter.step() == .added)
            #expect(try await isStarted(normal))
            // The former caller's first one, which is not done after its first step.
            #expect(
                try await pushes.database.query("SELECT max(recipients_done) FROM pushes")[0].decode(Int.self) == 50)
        }
    }

    // MARK: - Devices that are not registered

    @Test func aPushKeepsFewTargetsOfUnknownDevices() async throws {
        try await TestPushes.with { pushes in
            let ada = SignedIn()
            let phone = try await pushes.register(ada, token: "aa")
            let invented = (0..<500).map { _ in PushRequest.DeviceTarget(user: ada.id, device: UUID()) }
            let targets = PushRequest.Targets(devices: invented + [.init(user: ada.id, device: phone.id)])
            let answer = try await acceptance(targets, in: pushes, key: "k")
            // The answer and the status count each of them.
            #expect(answer.devices == 501)
            #expect(try await pushes.registry.count("push_targets") == 11)
            #expect(try await pushes.registry.count("pending_push_outcomes") == 10)
            let status = try await pushes.status(of: id(answer))
            #expect(status.counts == ["suppressed": 500, "queued": 1] && status.devices.count == 11)
            #expect(try await acceptance(targets, in: pushes, key: "k") == answer)
        }
    }

    @Test func aDryRunCountsDistinctDevicesAndWritesNothing() async throws {
        try await TestPushes.with { pushes in
            let users = try await pushes.insertUsers(120, devices: 3)
            let push = try TestPushes.valid(
                .init(users: users, devices: [.init(user: users[0], device: UUID())])
            ) { $0.dryRun = true }
            // It needs no right to write.
            let answer = try await pushes.store.dryRun(push)
            #expect(answer == PushAccepted(devices: 361))
            for table in ["pushes", "push_targets"] { #expect(try await pushes.registry.count(table) == 0) }
        }
    }
}
