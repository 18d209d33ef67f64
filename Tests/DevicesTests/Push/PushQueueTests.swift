import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import DevicesService

/// Leases, caps and surveys of the queue.
@Suite struct PushQueueTests {
    let ada = SignedIn()
    let bob = SignedIn()

    // MARK: - Leases

    /// What a replica that was stopped for long reports is not believed.
    @Test func onlyTheLatestLeaseRecordsAnOutcome() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            let push = try await pushes.accept(.init(users: [ada.id]))
            func claim() async throws -> ClaimedTarget? {
                var due = try await pushes.queue.due(limit: 10)
                return try await pushes.queue.claim(due.take(10), lease: .seconds(30)).first
            }
            let first = try #require(try await claim())
            #expect(!first.isTakeover && first.attempts == 0)
            #expect(try await claim() == nil)
            try await pushes.makeDue()
            let second = try #require(try await claim())
            #expect(second.isTakeover && second.attempts == 1 && second.leaseEpoch == first.leaseEpoch + 1)
            let late = ClaimOutcome(claim: first, decision: DeliveryDecision(state: .rejected, reason: "late"))
            let decision = DeliveryDecision(state: .accepted, isAttempt: true, registration: .accepted)
            #expect(
                try await pushes.queue.record([late, ClaimOutcome(claim: second, decision: decision)]) == [false, true])
            #expect(try await pushes.states(of: push) == ["accepted"])
            #expect(try await pushes.queue.record([ClaimOutcome(claim: second, decision: decision)]) == [false])
        }
    }

    @Test func replicasClaimEachTargetOnce() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<40 { _ = try await pushes.register(ada, token: String(format: "%04x", number)) }
            _ = try await pushes.accept(.init(users: [ada.id]))
            var due = try await pushes.queue.due(limit: 100)
            let targets = due.take(100)
            #expect(targets.count == 40)
            let claims = try await withThrowingTaskGroup(of: [ClaimedTarget].self) { group in
                for _ in 0..<8 { group.addTask { try await pushes.queue.claim(targets, lease: .seconds(30)) } }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(claims.count == 40 && Set(claims.map(\.target)).count == 40)
        }
    }

    /// tokens says of one session that it ends at a time that PostgreSQL refuses.
    @Test func aRefusedEndOfASessionHoldsUpNoOther() async throws {
        try await TestPushes.with { pushes in
            let users = [SignedIn(), SignedIn(), SignedIn()]
            for (number, user) in users.enumerated() {
                _ = try await pushes.register(user, token: String(format: "%04x", number))
            }
            _ = try await pushes.accept(.init(users: users.map(\.id)))
            var expirations = Dictionary(uniqueKeysWithValues: users.map { ($0.session, Date.now + 60) })
            expirations[users[1].session] = Date(timeIntervalSince1970: 1e13)
            let claims = try await pushes.claims()
            await #expect(throws: PostgresError.self) {
                try await pushes.queue.keepLiveness(of: claims, expirations)
            }
            let kept = try await pushes.database.query("SELECT user_id FROM devices WHERE live_until IS NOT NULL")
            #expect(Set(try kept.decode(UUID.self)) == [users[0].id, users[2].id])
        }
    }

    // MARK: - Caps

    /// Ten pushes to three devices of a user, each device claimed by another replica at the same time.
    @Test func concurrentReplicasKeepACap() async throws {
        try await TestPushes.with { pushes in
            for token in ["aa", "bb", "cc"] { _ = try await pushes.register(ada, token: token) }
            _ = try await pushes.register(bob, token: "dd")
            for _ in 0..<10 { _ = try await pushes.accept(.init(users: [ada.id, bob.id])) }
            let claims = try await pushes.claims()
            #expect(claims.count == 40)
            let capped = try await withThrowingTaskGroup(of: Set<PushTarget>.self) { group in
                for part in 0..<8 {
                    let own = claims.enumerated().filter { $0.offset % 8 == part }.map { ($0.element, 4) }
                    group.addTask { try await pushes.queue.capped(own) }
                }
                return try await group.reduce(into: Set()) { $0.formUnion($1) }
            }
            #expect(capped.count == 24)
            for (user, devices) in [(ada, 3), (bob, 1)] {
                let sent = claims.filter { $0.user == user.id && !capped.contains($0.target) }
                #expect(sent.count == 4 * devices && Set(sent.map(\.target.push)).count == 4)
                #expect(try await pushes.counts(of: user) == [4])
            }
            // Those that were counted are so for ever, and the others find no room.
            #expect(try await pushes.queue.capped(claims.map { ($0, 4) }) == capped)
            #expect(try await pushes.queue.capped(claims.map { ($0, 10) }).isEmpty)
            #expect(try await pushes.counts(of: ada) == [10])
        }
    }

    @Test func aCapIsForADay() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            func capped() async throws -> [Bool] {
                let claims = try await pushes.claims()
                let capped = try await pushes.queue.capped(claims.map { ($0, 1) })
                return claims.map { capped.contains($0.target) }
            }
            _ = try await pushes.accept(.init(users: [ada.id]))
            #expect(try await capped() == [false])
            try await pushes.database.query("UPDATE push_user_days SET day = day - 1")
            // The first is repeated and does not count again.
            try await pushes.makeDue()
            #expect(try await capped() == [false])
            #expect(try await pushes.counts(of: ada) == [1])
            _ = try await pushes.accept(.init(users: [ada.id]))
            #expect(try await capped() == [false])
            #expect(try await pushes.counts(of: ada) == [1, 1])
            _ = try await pushes.accept(.init(users: [ada.id]))
            #expect(try await capped() == [true])
        }
    }

    // MARK: - The queue

    @Test func theQueueIsSurveyed() async throws {
        try await TestPushes.with { pushes in
            #expect(try await pushes.queue.survey(limit: 10).lengths.isEmpty)
            _ = try await pushes.register(ada, token: "aa")
            _ = try await pushes.accept(.init(users: [ada.id]))
            _ = try await pushes.accept(.init(users: [ada.id]), of: "chat")
            _ = try await pushes.accept(.init(users: [ada.id])) { $0.sendAt = .now + 3600 }
            let survey = try await pushes.queue.survey(limit: 10)
            #expect(survey.load(of: "orders").devices == 2 && survey.load(of: "chat") == QueueLoad(devices: 1))
            #expect(survey.waiting.mapValues(\.pushes) == [TestPushes.caller: 1])
            #expect(try #require(survey.lengths.map(\.oldestDueAt).min()) <= survey.now)
            _ = try await pushes.activity.survey { _ in survey }
            pushes.activity.accepted(QueueLoad(devices: 7), of: "chat")
            #expect(pushes.activity.queueLoad(of: "chat").devices == 8)
        }
    }

    @Test func aSurveyCountsUpToALimit() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<20 { _ = try await pushes.register(ada, token: String(format: "%04x", number)) }
            _ = try await pushes.accept(.init(users: [ada.id]))
            _ = try await pushes.accept(.init(users: [ada.id]), of: "chat")
            let survey = try await pushes.queue.survey(limit: 7)
            #expect(survey.load(of: "orders").devices == 7 && survey.load(of: "chat").devices == 7)
        }
    }

    /// A caller with many scheduled pushes hides none of another one.
    @Test func scheduledPushesAreCountedUpToALimitOfEachCaller() async throws {
        try await TestPushes.with { pushes in
            for caller in ["news", "news", "news", "news", "chat", "chat"] {
                _ = try await pushes.accept(.init(users: [ada.id]), of: caller) { $0.sendAt = .now + 3600 }
            }
            let survey = try await pushes.queue.survey(limit: 3)
            #expect(survey.waiting.mapValues(\.pushes) == ["news": 3, "chat": 2])
        }
    }

    @Test func scheduledPushesCountByTheirRecipientsAndBytes() async throws {
        try await TestPushes.with { pushes in
            let users = (0..<30).map { _ in UUID() }
            for _ in 0..<2 { _ = try await pushes.accept(.init(users: users)) { $0.sendAt = .now + 3600 } }
            let load = try await pushes.queue.survey(limit: 100).load(of: TestPushes.caller)
            #expect(load.devices == 60)
            let row = try TestPushes.valid(.init(users: users))
            #expect(load.bytes == 2 * row.bytes && row.bytes > row.content.payload.count + 30 * 32)
        }
    }

    /// The survey may not have seen it.
    @Test func whatIsAcceptedDuringASurveyCountsUntilTheNextOne() async throws {
        let activity = PushActivity()
        let load = QueueLoad(devices: 3, bytes: 10)
        activity.accepted(load, of: "chat")
        _ = try await activity.survey { _ in
            activity.accepted(load, of: "chat")
            return .init()
        }
        #expect(activity.queueLoad(of: "chat") == load)
        _ = try await activity.survey { _ in .init() }
        #expect(activity.queueLoad(of: "chat") == QueueLoad())
    }

    /// One part's failure does not end the survey.
    @Test func aCountThatFailsKeepsTheFormerOne() async throws {
        try await TestPushes.with { pushes in
            _ = try await pushes.register(ada, token: "aa")
            _ = try await pushes.accept(.init(users: [ada.id]))
            _ = try await pushes.accept(.init(users: [ada.id])) { $0.sendAt = .now + 3600 }
            let survey = try await pushes.queue.survey(limit: 10)
            try await pushes.database.query(
                "DROP FUNCTION count_waiting_push_targets(text, text, bigint)")
            var errors = 0
            let next = try await pushes.queue.survey(limit: 10, former: survey) { _ in errors += 1 }
            #expect(next.load(of: TestPushes.caller) == survey.load(of: TestPushes.caller))
            #expect(errors == PushUrgency.allCases.count && next.waiting == survey.waiting)
            #expect(next.uncounted == [TestPushes.caller])
        }
    }

    @Test("A count fails: what the caller has added since its last count still fills the queue")
    func addedWhileCountsFail() async throws {
        let activity = PushActivity()
        activity.accepted(QueueLoad(devices: 7, bytes: 70), of: "shop")
        activity.accepted(QueueLoad(devices: 5, bytes: 50), of: "news")
        for _ in 0..<3 {
            _ = try await activity.survey { _ in PushQueueStore.Survey(uncounted: ["shop"]) }
        }
        #expect(activity.queueLoad(of: "shop") == QueueLoad(devices: 7, bytes: 70))
        #expect(activity.queueLoad(of: "news") == QueueLoad())
        _ = try await activity.survey { _ in PushQueueStore.Survey() }
        #expect(activity.queueLoad(of: "shop") == QueueLoad())
    }

    /// Otherwise a survey would read each row of a long queue.
    @Test func aSurveyReadsIndexesAlone() async throws {
        try await TestPushes.with { pushes in
            let plans = try await pushes.database.withTransaction { transaction in
                for setting in ["enable_seqscan", "enable_sort", "enable_bitmapscan"] {
                    try await transaction.query("SET LOCAL \(unescaped: setting) = off")
                }
                let targets = try await transaction.query(
                    """
                    EXPLAIN SELECT state, count(*) FROM (
                        SELECT state, due_at FROM push_targets WHERE caller = 'a' AND urgency = 'normal'
                            AND due_at <= 'infinity' ORDER BY due_at LIMIT 100) AS waiting GROUP BY state
                    """
                ).decode(String.self).joined(separator: "\n")
                let waiting = try await transaction.query(
                    """
                    EXPLAIN SELECT sum(bytes) FROM (
                        SELECT recipient_count, bytes FROM pushes WHERE state = 'scheduled' AND caller = 'a' LIMIT 100
                    ) AS waiting
                    """
                ).decode(String.self).joined(separator: "\n")
                return [targets, waiting]
            }
            for plan in plans {
                #expect(plan.contains("Index Only Scan") && !plan.contains("Index Scan"), "\(plan)")
            }
        }
    }

    /// Otherwise a large push of one caller would fill what a look reads.
    @Test func aLookSeesEachCaller() async throws {
        try await TestPushes.with { pushes in
            for number in 0..<20 { _ = try await pushes.register(ada, token: String(format: "%04x", number)) }
            _ = try await pushes.register(bob, token: "ff")
            _ = try await pushes.accept(.init(users: [ada.id]), of: "news")
            let chat = try await pushes.accept(.init(users: [bob.id]), of: "chat")
            var due = try await pushes.queue.due(limit: 5)
            let targets = due.take(100)
            #expect(targets.count == 6)
            #expect(targets.prefix(2).contains { $0.push == chat })
        }
    }
}
