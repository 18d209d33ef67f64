import Foundation
import GatehouseLimits
import GatehouseServiceContracts
import MetricsTestKit
import NIOCore
import Postgres
import Redis
import TestKit
import Testing

@testable import TokensService

@Suite struct RaceLockTests {
    /// Released when a refresh has succeeded, was refused, or failed; long before its lifetime would end it.
    @Test func isHeldNoLongerThanTheWork() async throws {
        try await TokensFixture.with(redis: .patient(TestRedis.url)) { tokens in
            let lock = RaceLock(redis: tokens.redis, timeout: .seconds(20), lifetime: .seconds(600))
            let refresher = try tokens.refresher(lock: lock)
            let token = try await tokens.signIn()
            _ = try await refresher.refresh(token)
            try await expectFree(token.sessionID, lock)
            let unknown = RefreshToken(sessionID: UUID(), generation: 0, keys: tokens.keys)
            #expect(try await refresher.refusal(of: unknown) == .invalidRefreshToken)
            try await expectFree(unknown.sessionID, lock)
            await #expect(throws: PostgresError.self) {
                try await Deadline.with(.after(.seconds(-1))) { try await refresher.refresh(token) }
            }
            try await expectFree(token.sessionID, lock)
        }
    }

    /// A caller so slow that the lock went to another caller does not open the other caller's lock.
    @Test func isReleasedByItsOwnerAlone() async throws {
        try await TokensFixture.with(redis: .patient(TestRedis.url)) { tokens in
            let lock = RaceLock(redis: tokens.redis, timeout: .seconds(20), lifetime: .seconds(600))
            let id = UUID()
            let slow = await lock.acquire(id)
            try await tokens.redis.send("DEL", "gatehouse:tokens:race:\(id.uuidString)")
            let owner = await lock.acquire(id)
            guard case .acquired = owner else {
                Issue.record("a lock that was lost could not be taken")
                return
            }
            await lock.release(slow)?.value
            guard case .heldByAnother = await lock.acquire(id) else {
                Issue.record("a caller opened another caller's lock")
                return
            }
            await lock.release(owner)?.value
            try await expectFree(id, lock)
        }
    }

    @Test("Redis never answers the release: a refresh without contention does not wait for it", .timeLimit(.minutes(1)))
    func releaseIsNotAwaited() async throws {
        try await withSilentRedis(answering: ["SET"]) { server in
            try await TokensFixture.with(redis: server.configuration) { tokens in
                try await eventually("connected") { tokens.redis.isConnected }
                let lock = RaceLock(redis: tokens.redis, timeout: .seconds(3600))
                let first = try await tokens.signIn()
                #expect(try await tokens.refresher(lock: lock).refresh(first).refresh.generation == 1)
                try await eventually("the lock is released afterwards") { server.commands == ["SET", "EVALSHA"] }
            }
        }
    }

    /// Who waits looks twice, and then goes ahead: it asks neither PostgreSQL nor Redis in a loop.
    @Test func aWaitingRefreshDoesNotPoll() async throws {
        try await TokensFixture.with(redis: .patient(TestRedis.url)) { tokens in
            let first = try await tokens.signIn()
            // One connection, so that the statistics are those of the refresh.
            var single = PostgresPoolConfiguration.patient
            single.maximumConnections = 1
            let pool = PostgresPool(configuration: try .patient(tokens.database.url), pool: single)
            defer { pool.close() }
            let lock = RaceLock(redis: tokens.redis, timeout: .seconds(20), lifetime: .seconds(600))
            let held = await lock.acquire(first.sessionID)
            let before = try await looks(pool)
            let refresher = try tokens.refresher(store: SessionStore(database: pool, lifetimes: .init()), lock: lock)
            #expect(try await refresher.refresh(first).refresh.generation == 1)
            // Two while it waits, one to decide, one to rotate.
            #expect(try await looks(pool) - before == 4)
            await lock.release(held)?.value
        }
    }

    @Test("A refresh takes the lock, waits, times out or bypasses it: a metric counts the result")
    func metrics() async throws {
        try await TokensFixture.with(rules: RotationRules(raceWindow: 3600), redis: .patient(TestRedis.url)) { tokens in
            let metrics = TestMetrics()
            let lock = RaceLock(
                redis: tokens.redis, timeout: .seconds(20), lifetime: .seconds(600), metrics: metrics)
            let refresher = try tokens.refresher(lock: lock)
            func expect(_ counts: [String: Int64], _ comment: Comment) {
                for result in ["taken", "waited", "timed_out", "bypassed"] {
                    let counters = metrics.counters(
                        label: "tokens_race_lock_total", dimensions: [("result", result)])
                    #expect(counters.map(\.totalValue) == [counts[result] ?? 0], "\(comment): \(result)")
                }
            }
            let first = try await tokens.signIn()
            let second = try await refresher.refresh(first).refresh
            expect(["taken": 1], "no other caller was at it")
            try await expectFree(first.sessionID, lock)
            let held = await lock.acquire(first.sessionID)
            #expect(try await refresher.refresh(first).refreshToken == second.text)
            expect(["taken": 3, "waited": 1], "another's result was there")
            let third = try await refresher.refresh(second).refresh
            #expect(third.generation == 2)
            expect(["taken": 3, "waited": 1, "timed_out": 1], "the holder brought no result")
            // What is decided is not waited for: refused, too old, or of a session that is gone.
            let other = RefreshToken(sessionID: first.sessionID, generation: 2, keys: tokens.keys)
            #expect(try await refresher.refusal(of: other) == .invalidRefreshToken)
            #expect(try await refresher.refusal(of: first) == .unavailable)
            let gone = RefreshToken(sessionID: UUID(), generation: 0, keys: tokens.keys)
            let heldToo = await lock.acquire(gone.sessionID)
            #expect(try await refresher.refusal(of: gone) == .invalidRefreshToken)
            await lock.release(heldToo)?.value
            expect(["taken": 4, "waited": 4, "timed_out": 1], "there was nothing to wait for")
            await lock.release(held)?.value

            var nowhere = RedisConfiguration(host: "127.0.0.1", port: 1)
            nowhere.connectTimeout = .milliseconds(50)
            try await withRedisClient(nowhere) { redis in
                let without = try tokens.refresher(lock: RaceLock(redis: redis, metrics: metrics))
                _ = try await without.refresh(third)
            }
            let bypassed = metrics.counterTotal(
                label: "tokens_race_lock_total", dimensions: [("result", "bypassed")])
            #expect(bypassed == 1)
        }
    }

    private func expectFree(_ sessionID: UUID, _ lock: RaceLock) async throws {
        try await eventually("the lock is free") {
            let acquisition = await lock.acquire(sessionID)
            guard case .acquired = acquisition else { return false }
            await lock.release(acquisition)?.value
            return true
        }
    }

    /// How often the sessions were looked at, by index or without.
    private func looks(_ pool: PostgresPool) async throws -> Int {
        try await pool.query("SELECT pg_stat_force_next_flush()")
        return try await pool.query(
            """
            SELECT sum(seq_scan + COALESCE(idx_scan, 0))::bigint FROM pg_stat_user_tables
            WHERE relname ~ '^sessions(_p[0-9]+)?$'
            """
        )[0].decode(Int.self)
    }
}
