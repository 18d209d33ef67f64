import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import DevicesService

/// The feed in which callers read what became of their pushes.
@Suite struct PushOutcomeFeedTests {
    let ada = SignedIn()
    let bob = SignedIn()

    private func read(
        _ feed: PushOutcomeFeed, of caller: String = TestPushes.caller, after cursor: String? = nil
    ) async throws -> PushOutcomePage {
        var page = try await feed.page(of: caller, after: cursor, waitingUntil: .now)
        while page.more {
            let next = try await feed.page(of: caller, after: page.cursor, waitingUntil: .now)
            page = PushOutcomePage(
                entries: page.entries + next.entries, cursor: next.cursor, reset: next.reset, more: next.more)
        }
        return page
    }

    @Test(arguments: [1, 1000]) func everyOutcomeButAcceptancesIsInTheFeed(pageSize: Int) async throws {
        try await TestPushes.with { pushes in
            let feed = PushOutcomeFeed(database: pushes.database, pageSize: pageSize, logger: .quiet)
            let phone = try await pushes.register(ada, token: "aa")
            let pad = try await pushes.register(bob, token: "bb")
            let pushService = FakePushService { push in
                push.destination == .device(PushToken(bytes: [0xAA]))
                    ? FakePushService.accepted : .answered(APNsAnswer(status: 400, reason: "BadDeviceToken"))
            }
            let sent = try await pushes.accept(.init(users: [ada.id, bob.id]))
            try await pushes.sending(through: pushService) {
                try await pushes.eventually(sent, is: "accepted", "rejected BadDeviceToken")
            }
            let first = try await read(feed)
            #expect(first.entries.map(\.device) == [pad.id] && first.entries.map(\.user) == [bob.id])
            #expect(first.entries.map(\.push) == [sent] && first.entries.map(\.reason) == ["BadDeviceToken"])
            #expect(first.entries.map(\.state) == [.rejected] && !first.reset)

            let cancelled = try await pushes.accept(.init(users: [ada.id]))
            #expect(try await pushes.store.cancel(cancelled, of: TestPushes.caller))
            let unknown = UUID()
            _ = try await pushes.accept(.init(devices: [.init(user: ada.id, device: unknown)]))
            let rest = try await read(feed, after: first.cursor)
            #expect(rest.entries.map(\.state) == [.cancelled, .suppressed])
            #expect(rest.entries.map(\.device) == [phone.id, unknown])
            #expect(try await read(feed, after: rest.cursor).entries == [])
            #expect(try await read(feed).entries == first.entries + rest.entries)
        }
    }

    /// Also one whose name has a quote.
    @Test func aCallerReadsItsOwnOutcomes() async throws {
        try await TestPushes.with { pushes in
            let feed = PushOutcomeFeed(database: pushes.database, logger: .quiet)
            let targets = PushRequest.Targets(devices: [.init(user: ada.id, device: UUID())])
            let own = try await pushes.accept(targets, of: "o'rders")
            _ = try await pushes.accept(targets, of: "chat")
            let page = try await read(feed, of: "o'rders")
            #expect(page.entries.map(\.push) == [own])
            // The cursor passes over the others.
            #expect(try await read(feed, of: "o'rders", after: page.cursor).entries == [])
            #expect(try await feed.page(of: "chat", after: "17-1", waitingUntil: .now).reset)
        }
    }

    @Test func outcomesLeaveTheFeedAfterAWeek() async throws {
        try await TestPushes.with { pushes in
            let feed = PushOutcomeFeed(database: pushes.database, logger: .quiet)
            let expired = ExpiredRegistrationStore(database: pushes.database, unseen: TestPushes.unseen)
            let devices = (0..<3).map { _ in PushRequest.DeviceTarget(user: ada.id, device: UUID()) }
            _ = try await pushes.accept(.init(devices: devices))
            let all = try await read(feed)
            #expect(all.entries.count == 3)
            for (days, rest) in [(6, 3), (7, 1)] {
                try await pushes.database.query(
                    "UPDATE push_outcome_log SET stamped_at = now() - make_interval(days => \(Int32(days)))")
                _ = try await expired.purge(.outcomes, in: Bucket(user: ada.id))
                #expect(try await pushes.registry.count("push_outcome_log") == rest)
            }
            // The last one stays, so a reader that has read everything goes on.
            let page = try await read(feed, after: all.cursor)
            #expect(page.entries == [] && !page.reset)
        }
    }
}
