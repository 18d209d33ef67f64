import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import DevicesService

/// Segments, slices and tags in real PostgreSQL.
@Suite struct SegmentStoreTests {
    private static let lease = Duration.seconds(30)

    /// A device with properties. The user's rows are in the first slice.
    @discardableResult
    private func register(
        _ pushes: TestPushes, _ number: Int, locale: String? = nil, timeZone: String? = nil, appVersion: String? = nil,
        environment: PushEnvironment = .sandbox, kind: PushKind = .alert, alertsAllowed: Bool? = nil,
        tags: Set<String> = []
    ) async throws -> Device {
        let user = SignedIn.inFirstSlice()
        let registration = try ValidRegistration(
            Registration(
                token: String(format: "%04x", number), environment: environment, bundleId: TestPushes.app, kind: kind,
                locale: locale, timeZone: timeZone, appVersion: appVersion, alertsAllowed: alertsAllowed),
            timeZones: TimeZoneDatabase(["Europe/Vienna", "Europe/Berlin"]))
        if !tags.isEmpty {
            _ = try await UserTagStore(database: pushes.database).set(tags, of: user.id, in: TestPushes.tagSpace)
        }
        return try #require(try await pushes.registry.register(registration, user: user.id, session: user.session))
    }

    private func slice(_ push: UUID) -> PushSlice { PushSlice(caller: TestPushes.caller, push: push, number: 0) }

    /// Each device accepts the push.
    private func accepting(_ page: SlicePage) -> SliceProgress {
        SliceProgress(page.claims.map { _ in .decided(DeliveryDecision(state: .accepted, isAttempt: true)) })
    }

    private func estimate(_ pushes: TestPushes, _ segment: PushSegment) async throws -> Int {
        let push = try TestPushes.valid(.init(segment: segment)) { $0.dryRun = true }
        let answer = try await pushes.store.dryRun(push)
        return answer.isEstimate == nil ? answer.devices ?? -1 : -1
    }

    // MARK: - Segments

    @Test func aSegmentHasTheDevicesWithItsProperties() async throws {
        try await TestPushes.with { pushes in
            try await register(pushes, 1, locale: "de-AT", timeZone: "Europe/Vienna", appVersion: "1.9", tags: ["gold"])
            try await register(
                pushes, 2, locale: "de-DE", timeZone: "Europe/Berlin", appVersion: "1.10.0", alertsAllowed: true)
            try await register(pushes, 3, locale: "en_US", appVersion: "2.0 (7)", tags: ["gold", "beta"])
            try await register(pushes, 4, appVersion: "next", alertsAllowed: false, tags: ["beta"])
            try await register(pushes, 5, kind: .voip)
            for (segment, count) in [
                (.init(), 4), (.init(locales: ["de"]), 2), (.init(locales: ["DE-at", "en-US"]), 2),
                (.init(timeZones: ["Europe/Vienna"]), 1), (.init(appVersion: .init(from: "1.10")), 2),
                (.init(appVersion: .init(below: "1.10")), 1), (.init(appVersion: .init(from: "1.9.1", below: "2")), 1),
                (.init(appVersion: .init(from: "2")), 1), (.init(tags: .init(all: ["gold", "beta"])), 1),
                (.init(tags: .init(any: ["gold", "beta"])), 3), (.init(tags: .init(all: ["gold", "gold"])), 2),
                (.init(tags: .init(all: ["beta"], any: ["gold"])), 1), (.init(lastSeenSince: .now + 60), 0),
                (.init(lastSeenSince: .now - 60), 4), (.init(locales: ["de"], tags: .init(any: ["gold"])), 1),
                (.init(alertsAllowed: true), 1), (.init(alertsAllowed: false), 1),
                (.init(locales: ["en"], alertsAllowed: true), 0),
            ] as [(PushSegment, Int)] {
                #expect(try await estimate(pushes, segment) == count, "\(segment)")
            }
            for table in ["pushes", "push_slices"] { #expect(try await pushes.registry.count(table) == 0) }
        }
    }

    /// They would receive nothing, and have no rows.
    @Test func invalidAndUnseenDevicesAreInNoSegment() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<4 { try await register(pushes, number) }
            #expect(try await estimate(pushes, .init()) == 4)
            for (statement, left) in [
                ("status = 'invalid'", 3), ("last_seen_at = now() - interval '61 days'", 2),
            ] as [(String, Int)] {
                try await pushes.database.query(
                    """
                    UPDATE devices SET \(unescaped: statement) WHERE id IN (
                        SELECT id FROM devices
                        WHERE status = 'active' AND last_seen_at > now() - interval '1 day' LIMIT 1)
                    """)
                #expect(try await estimate(pushes, .init()) == left, "\(statement)")
            }
        }
    }

    /// Swift and PostgreSQL must agree.
    @Test(arguments: ["2", "2.0", "2.10.0", "0.0", "1.0.3", "999999999999999999", "00.1", "10.00"])
    func versionsAreTheSameInPostgreSQL(_ text: String) async throws {
        try await TestPushes.with { pushes in
            let numbers = try await pushes.database.query("SELECT version_numbers(\(text))")[0].decode([Int64]?.self)
            #expect(numbers == VersionNumbers.parse(text))
        }
    }

    @Test func manyRegistrationsAreSampled() async throws {
        try await TestPushes.with { pushes in
            // Two in each bucket, and as many more as make it too many to count.
            try await pushes.database.query(
                """
                WITH added AS (
                    INSERT INTO devices (bucket, user_id, session_id, token_hash, token_epoch, sealed_token,
                        environment, bundle_id, kind)
                    SELECT number % 4096, gen_random_uuid(), gen_random_uuid(), sha256(number::text::bytea), 1, '\\x00',
                        'production', \(TestPushes.app), CASE WHEN number < 8192 THEN 'alert' ELSE 'voip' END
                    FROM generate_series(0, 4096 * 30 - 1) AS number RETURNING token_hash, user_id
                )
                INSERT INTO push_token_owners (token_hash, user_id, epoch) SELECT token_hash, user_id, 1 FROM added
                """)
            let push = try TestPushes.valid(.init(segment: .init())) { $0.dryRun = true }
            let answer = try await pushes.store.dryRun(push)
            #expect(answer.isEstimate == true)
            #expect(abs((answer.devices ?? 0) - 8192) < 10)
        }
    }

    // MARK: - Slices

    @Test func aPushIsSlicedAndReadPageByPage() async throws {
        try await TestPushes.with { pushes in
            var devices: Set<UUID> = []
            for number in 0..<7 { devices.insert(try await register(pushes, number).id) }
            let push = try await pushes.accept(.init(segment: .init()))
            #expect(try await pushes.registry.count("push_slices") == 64)
            #expect(try await pushes.registry.count("push_targets") == 0)
            #expect(try await pushes.slices.due().count == 8)
            var page = try #require(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 3))
            var read: [UUID] = []
            while true {
                #expect(page.claims.allSatisfy { $0.device != nil && $0.target.push == push })
                let order = page.claims.map(\.target.bucket.rawValue)
                #expect(order == order.sorted())
                read += page.claims.map(\.target.device)
                let (wasRecorded, next) = try await pushes.slices.advance(
                    page, by: accepting(page), lease: Self.lease, most: 3)
                #expect(wasRecorded)
                guard let next else { break }
                page = next
            }
            #expect(read.count == 7 && Set(read) == devices)
            let status = try await pushes.status(of: push)
            #expect(status.counts == ["accepted": 7] && status.devices.isEmpty && status.state == .sending)
            #expect(status.slices == .init(total: 64, done: 1, expired: 0, cancelled: 0, devices: 7))
            #expect(try await pushes.registry.count("push_targets") == 0)
            // The slices without devices end when they are read.
            while let slice = try await pushes.slices.due().first {
                #expect(try await pushes.slices.claim(slice, lease: Self.lease, most: 3) == nil)
            }
            #expect(try await pushes.status(of: push).state == .done)
        }
    }

    @Test func aSliceThatTakesLongToReadIsReadFurtherLater() async throws {
        try await TestPushes.with { pushes in
            try await register(pushes, 0)
            let push = try await pushes.accept(.init(segment: .init()))
            try await pushes.endReading(after: "0 seconds")
            #expect(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 9) == nil)
            #expect(try await pushes.slices.due().contains { $0.number == 0 })
            try await pushes.endReading(after: "1 hour")
            #expect(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 9)?.claims.count == 1)
        }
    }

    @Test func aPageThatWasSentInPartGoesOnAfterItsLastDevice() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<6 { try await register(pushes, number) }
            let push = try await pushes.accept(.init(segment: .init()))
            let first = try #require(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 4))
            var results = [DeviceResult](repeating: .notStarted, count: 4)
            results[0] = .decided(DeliveryDecision(state: .accepted))
            results[1] = .decided(DeliveryDecision(state: .rejected, reason: "Unregistered"))
            let (_, second) = try await pushes.slices.advance(
                first, by: SliceProgress(results), lease: Self.lease, most: 9)
            let rest = try #require(second)
            #expect(rest.claims.count == 4 && rest.claims[0].target == first.claims[2].target)
            // Nothing was sent: the same devices are read again, when the slice is due.
            let (wasRecorded, none) = try await pushes.slices.advance(
                rest, by: SliceProgress([]), wait: .seconds(60), lease: Self.lease, most: 0)
            #expect(wasRecorded && none == nil)
            #expect(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 9) == nil)
            try await pushes.makeSlicesDue()
            let again = try #require(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 9))
            #expect(again.claims.map(\.target) == rest.claims.map(\.target))
            #expect(try await pushes.states(of: push) == ["rejected Unregistered"])
            #expect(try await pushes.status(of: push).counts == ["accepted": 1, "rejected": 1])
        }
    }

    /// What a replica that was stopped for long reports is not believed; neither is a report that arrived already.
    @Test func onlyTheLatestPageMovesTheCursor() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<4 { try await register(pushes, number) }
            let push = try await pushes.accept(.init(segment: .init()))
            let first = try #require(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 2))
            #expect(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 2) == nil)
            try await pushes.makeSlicesDue()
            let second = try #require(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 2))
            #expect(second.claims.map(\.target) == first.claims.map(\.target))
            var late = accepting(first)
            late.outcomes = [.init(index: 0, decision: DeliveryDecision(state: .rejected, reason: "late"))]
            func advance(_ page: SlicePage, _ progress: SliceProgress) async throws -> (Bool, SlicePage?) {
                try await pushes.slices.advance(page, by: progress, lease: Self.lease, most: 2)
            }
            #expect(try await advance(first, late).0 == false)
            #expect(try await pushes.status(of: push).counts.isEmpty)
            let (wasRecorded, third) = try await advance(second, accepting(second))
            #expect(wasRecorded && third?.claims.count == 2)
            // The answer was lost, and the report repeated.
            #expect(try await advance(second, accepting(second)).0 == false)
            #expect(try await pushes.status(of: push).counts == ["accepted": 2])
            #expect(try await pushes.registry.count("push_targets") == 0)
        }
    }

    /// A dead replica held a page, which may have been sent.
    @Test(arguments: [PushDoubt.repeat, .drop])
    func aPageOfADeadReplicaIsRepeatedOrInDoubt(_ onDoubt: PushDoubt) async throws {
        try await TestPushes.with { pushes in
            for number in 0..<5 { try await register(pushes, number) }
            let push = try await pushes.accept(.init(segment: .init())) { $0.onDoubt = onDoubt }
            let held = try #require(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 2))
            // New devices and other properties do not change which devices are in doubt.
            for number in 10..<20 { try await register(pushes, number) }
            try await pushes.makeSlicesDue()
            let next = try #require(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 99))
            let isRepeated = Set(held.claims.map(\.target)).isSubset(of: next.claims.map(\.target))
            #expect(isRepeated == (onDoubt == .repeat))
            #expect(Set(held.claims.map(\.target)).isDisjoint(with: next.claims.map(\.target)) != isRepeated)
            #expect(try await pushes.status(of: push).counts == (isRepeated ? [:] : ["inDoubt": 2]))
        }
    }

    @Test func replicasClaimASliceOnce() async throws {
        try await TestPushes.with { pushes in
            try await register(pushes, 1)
            let push = try await pushes.accept(.init(segment: .init()))
            let pages = try await withThrowingTaskGroup(of: SlicePage?.self) { group in
                for _ in 0..<8 {
                    group.addTask { try await pushes.slices.claim(slice(push), lease: Self.lease, most: 9) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(pages.compactMap(\.self).count == 1)
        }
    }

    @Test func acceptedDevicesHaveNoRowsAndOthersDo() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<4 { try await register(pushes, number) }
            let push = try await pushes.accept(.init(segment: .init()))
            let page = try #require(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 9))
            let decisions = [
                DeliveryDecision(state: .accepted, isAttempt: true, registration: .accepted),
                DeliveryDecision(
                    state: .rejected, reason: "Unregistered", isAttempt: true,
                    registration: .invalid(unlessSeenAfter: nil)),
                DeliveryDecision(
                    state: .retryAt, reason: "TooManyRequests", dueAt: .now + 60, isAttempt: true,
                    registration: .pause(until: .now + 60)),
                DeliveryDecision(state: .accepted, isAttempt: true),
            ]
            _ = try await pushes.slices.advance(
                page, by: SliceProgress(decisions.map(DeviceResult.decided)), lease: Self.lease, most: 0)
            let status = try await pushes.status(of: push)
            #expect(status.counts == ["accepted": 2, "rejected": 1, "retryAt": 1])
            #expect(status.devices.map(\.attempts) == [1, 1])
            let changed = try await pushes.database.query(
                """
                SELECT count(*) FILTER (WHERE apns_accepted_at IS NOT NULL), count(*) FILTER (WHERE status = 'invalid'),
                    count(*) FILTER (WHERE apns_paused_until IS NOT NULL) FROM devices
                """)[0].decode((Int, Int, Int).self)
            #expect(changed.0 == 1 && changed.1 == 1 && changed.2 == 1)
            // One that waits does not fill the caller's queue.
            #expect(try await pushes.queue.survey(limit: 100).load(of: TestPushes.caller) == QueueLoad())
        }
    }

    // MARK: - Ends

    @Test func aCancelledPushEndsWithItsPages() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<4 { try await register(pushes, number) }
            let push = try await pushes.accept(.init(segment: .init()))
            let page = try #require(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 2))
            #expect(try await pushes.store.cancel(push, of: TestPushes.caller))
            #expect(try await pushes.status(of: push).slices?.cancelled == 63)
            #expect(try await pushes.slices.due().isEmpty)
            let (wasRecorded, next) = try await pushes.slices.advance(
                page, by: accepting(page), lease: Self.lease, most: 2)
            #expect(wasRecorded && next == nil)
            let status = try await pushes.status(of: push)
            #expect(status.state == .cancelled && status.counts == ["accepted": 2] && status.slices?.cancelled == 64)
        }
    }

    @Test func anExpiredPushIsReadNoFurther() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<4 { try await register(pushes, number) }
            let push = try await pushes.accept(.init(segment: .init()))
            // A replica dies with a page.
            _ = try #require(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 2))
            try await pushes.expire(push)
            try await pushes.makeSlicesDue()
            while let slice = try await pushes.slices.due().first {
                #expect(try await pushes.slices.claim(slice, lease: Self.lease, most: 2) == nil)
            }
            let status = try await pushes.status(of: push)
            #expect(status.state == .done && status.slices?.expired == 64 && status.counts == ["inDoubt": 2])
        }
    }

    // MARK: - Acceptance

    @Test func aRepeatedRequestIsOnePush() async throws {
        try await TestPushes.with { pushes in
            let push = try TestPushes.valid(.init(segment: .init()))
            func accept(_ key: String, hash: UInt8 = 0) async throws -> PushStore.Acceptance {
                try await pushes.store.accept(
                    push, of: "orders", key: key, hash: Data(repeating: hash, count: 32))
            }
            let first = try await accept("k")
            guard case .accepted(let answer, true) = first else {
                Issue.record("not accepted")
                return
            }
            #expect(answer.devices == nil && answer.id != nil)
            #expect(try await accept("k") == .accepted(answer, isNew: false))
            #expect(try await accept("k", hash: 1) == .keyReused)
            #expect(try await pushes.registry.count("push_slices") == 64)
        }
    }

    /// Of concurrent requests, too.
    @Test func openPushesOfACallerAreBounded() async throws {
        try await TestPushes.with { pushes in
            let store = PushStore(
                database: pushes.database, unseen: TestPushes.unseen, bulkLimit: 3, logger: .quiet)
            @Sendable func accept(_ caller: String, sendAt: Date? = nil) async throws -> PushStore.Acceptance {
                let push = try TestPushes.valid(.init(segment: .init())) { $0.sendAt = sendAt }
                return try await store.accept(push, of: caller, key: UUID().uuidString, hash: Data(count: 32))
            }
            _ = try await accept("orders", sendAt: .now + 3600)
            let answers = try await withThrowingTaskGroup(of: PushStore.Acceptance.self) { group in
                for _ in 0..<6 { group.addTask { try await accept("orders") } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.count { $0 == .tooManyOpen } == 4)
            #expect(try await pushes.registry.count("pushes") == 3)
            if case .tooManyOpen = try await accept("chat") { Issue.record("another caller's pushes count") }
            // A named recipient is not bulk.
            let named = try TestPushes.valid(.init(users: [UUID()]))
            #expect(try await store.accept(named, of: "orders", key: "n", hash: Data(count: 32)) != .tooManyOpen)
            try await pushes.database.query("UPDATE push_slices SET state = 'done'")
            #expect(try await accept("orders") != .tooManyOpen)
        }
    }

    @Test func aScheduledSegmentIsSlicedWhenItIsDue() async throws {
        try await TestPushes.with { pushes in
            let push = try await pushes.accept(.init(segment: .init())) {
                $0.sendAt = .now + 3600
                $0.ratePerMinute = 60
            }
            #expect(try await pushes.status(of: push).slices == nil)
            #expect(try await pushes.registry.count("push_slices") == 0)
            try await pushes.database.query("UPDATE pushes SET send_at = now()")
            #expect(try await pushes.startDue() == 1)
            #expect(try await pushes.status(of: push).slices?.total == 64)
            #expect(try await pushes.registry.count("push_rates") == 1)
        }
    }

    @Test func slicesGoWithTheirPush() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.accept(.init(segment: .init())) { $0.ratePerMinute = 60 }
            try await pushes.database.query("UPDATE pushes SET day = current_date - 9")
            let expired = ExpiredRegistrationStore(database: pushes.database, unseen: TestPushes.unseen)
            #expect(try await expired.purge(.pushes, in: Bucket(user: UUID())) == 1)
            for table in ["push_slices", "push_rates"] { #expect(try await pushes.registry.count(table) == 0) }
        }
    }

    // MARK: - Rates

    /// Five seconds' worth of the rate is read at once, by one replica.
    @Test func aRateHoldsForAllSlicesAndReplicas() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<8 { try await register(pushes, number) }
            let push = try await pushes.accept(.init(segment: .init())) { $0.ratePerMinute = 36 }
            let page = try #require(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 500))
            #expect(page.claims.count == 3)
            #expect(try await pushes.slices.due().isEmpty)
            let other = PushSlice(caller: TestPushes.caller, push: push, number: 1)
            #expect(try await pushes.slices.claim(other, lease: Self.lease, most: 500) == nil)
            let (wasRecorded, none) = try await pushes.slices.advance(
                page, by: accepting(page), lease: Self.lease, most: 500)
            #expect(wasRecorded && none == nil)
            let wait = try await pushes.database.query(
                "SELECT extract(epoch FROM next_at - now())::float8 FROM push_rates")[0].decode(Double.self)
            #expect(wait <= 5)
            try await pushes.database.query("UPDATE push_rates SET next_at = now() - interval '1 hour'")
            #expect(try await pushes.slices.due().count == 8)
            // What was not used in time is not made up for.
            let next = try #require(try await pushes.slices.claim(slice(push), lease: Self.lease, most: 500))
            #expect(next.claims.count == 3)
            #expect(try await pushes.slices.due().isEmpty)
        }
    }

    @Test func namedDevicesAreDueAtTheRate() async throws {
        try await TestPushes.with { pushes in
            let users = (0..<3).map { _ in SignedIn() }
            for (number, user) in users.enumerated() {
                for device in 0..<2 {
                    _ = try await pushes.register(user, token: String(format: "%02x%02x", number, device))
                }
            }
            let push = try await pushes.accept(.init(users: users.map(\.id))) { $0.ratePerMinute = 6 }
            let due = try await pushes.database.query("SELECT due_at FROM push_targets ORDER BY due_at").decode(
                Date.self)
            #expect(try await pushes.status(of: push).counts == ["queued": 6])
            for index in 1..<6 { #expect(abs(due[index].timeIntervalSince(due[index - 1]) - 10) < 0.01) }
        }
    }

    // MARK: - Tags

    @Test func tagsAreReplacedAndErased() async throws {
        try await TestPushes.with { pushes in
            let (ada, bob) = (UUID(), UUID())
            let store = UserTagStore(database: pushes.database)
            let space = TagSpace(name: "a")
            #expect(try await store.tags(of: ada, in: space) == [])
            #expect(try await store.set(["b", "a"], of: ada, in: space))
            #expect(try await store.set(["a"], of: bob, in: space))
            #expect(try await store.tags(of: ada, in: space) == ["a", "b"])
            #expect(try await store.set(["c", "b"], of: ada, in: space))
            #expect(try await store.tags(of: ada, in: space) == ["b", "c"])
            #expect(try await store.set([], of: ada, in: space))
            #expect(try await store.tags(of: ada, in: space) == [])
            #expect(try await store.tags(of: bob, in: space) == ["a"])
            try await pushes.registry.erase(user: bob)
            #expect(try await pushes.registry.count("user_tags") == 0)
            #expect(try await store.set(["a"], of: bob, in: space) == false, "the account was deleted")
            #expect(try await pushes.registry.count("user_tags") == 0)
        }
    }

    /// A space's name that begins with another's is another space.
    @Test func aSpaceHoldsItsOwnTagsAlone() async throws {
        try await TestPushes.with { pushes in
            let ada = UUID()
            let store = UserTagStore(database: pushes.database)
            let (short, long) = (TagSpace(name: "a"), TagSpace(name: "ab"))
            for (tags, space) in [(["x", "y"], long), (["x"], short), (["z"], short)] {
                _ = try await store.set(Set(tags), of: ada, in: space)
            }
            #expect(try await store.tags(of: ada, in: long) == ["x", "y"])
            #expect(try await store.tags(of: ada, in: short) == ["z"])
            #expect(try await store.tags(of: ada) == ["x", "y", "z"])
        }
    }
}

extension SignedIn {
    /// A user whose rows are in the first of 64 slices.
    static func inFirstSlice() -> SignedIn {
        while true {
            let user = SignedIn()
            if Bucket(user: user.id).rawValue < Bucket.count / 64 { return user }
        }
    }
}
