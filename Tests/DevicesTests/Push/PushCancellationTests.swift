import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import DevicesService

/// Pushes that are cancelled before, while and after they are sent.
@Suite struct PushCancellationTests {
    let ada = SignedIn()

    @Test func aCancelledPushIsNotSent() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            let scheduled = try await pushes.accept(.init(users: [ada.id])) { $0.sendAt = .now + 3600 }
            for id in [push, push, scheduled] { #expect(try await pushes.store.cancel(id, of: "orders")) }
            try await pushes.database.query("UPDATE pushes SET send_at = now() WHERE send_at IS NOT NULL")
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
                let marker = try await pushes.accept(.init(users: [ada.id]))
                try await pushes.eventually(marker, is: "accepted")
            }
            #expect(pushService.sent.count == 1)
            #expect(try await pushes.states(of: push) == ["cancelled"])
            #expect(try await pushes.status(of: scheduled).state == .cancelled)
            #expect(try await pushes.status(of: scheduled).devices.isEmpty)
        }
    }

    /// A push may have more targets than a request can change: PostgreSQL ends the statement here.
    @Test("A cancellation does not reach every target: the rest ends when it is due")
    func partialCancellation() async throws {
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
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) { try await pushes.eventually(push, is: "cancelled") }
            #expect(pushService.sent.isEmpty)
        }
    }

    /// It is sent or cancelled, and the status says which.
    @Test("A push in flight is cancelled: it is not repeated")
    func cancellationInFlight() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            let (gate, open) = AsyncStream.makeStream(of: Void.self)
            let pushService = FakePushService { _ in
                for await _ in gate {}
                return .answered(APNsAnswer(status: 503, reason: "ServiceUnavailable"))
            }
            try await pushes.sending(through: pushService) {
                try await eventually("it is in flight") { pushService.sent.count == 1 }
                #expect(try await pushes.store.cancel(push, of: "orders"))
                #expect(try await pushes.states(of: push) == ["claimed"])
                open.finish()
                try await pushes.eventually(push, is: "retryAt ServiceUnavailable")
                try await pushes.makeDue()
                try await pushes.eventually(push, is: "cancelled")
            }
            #expect(pushService.sent.count == 1)
        }
    }

    @Test func cancellingRacesWithSending() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<20 { _ = try await pushes.register(ada, token: String(format: "%04x", number)) }
            let pushService = FakePushService()
            try await pushes.sending(through: pushService) {
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
            #expect(pushService.sent.count == accepted)
        }
    }
}
