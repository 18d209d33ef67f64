import Foundation
import GatehouseServiceContracts
import Postgres
import ServiceKitPostgres
import TestKit
import Testing

@testable import TokensService

@Suite struct SweepStoreTests {
    @Test func whatHasEndedIsPurgedInBatches() async throws {
        try await TokensFixture.with { tokens in
            var dead: [RefreshToken] = []
            for index in 0..<10 {
                let token = try await tokens.signIn()
                if index.isMultiple(of: 2) { dead.append(token) }
            }
            for token in dead { try await tokens.age(token.sessionID, by: 2_592_001) }
            let sweeps = SweepStore(
                sessions: tokens.store, revocationRetention: 604_800, batch: 2, rest: .zero, gap: .zero)
            var left = 10
            var steps = 0
            while left > 5, steps < 20 {
                try await sweeps.step(.sessions)
                let now = try await tokens.count("sessions")
                #expect(left - now <= 2, "no more than a batch at a time")
                left = now
                steps += 1
                try await tokens.database.pool.query("UPDATE sweeps SET due_at = now()")
            }
            #expect(steps >= 3)
            #expect(left == 5)
            #expect(try await tokens.purgeUsers() == 5)
            #expect(try await tokens.count("users") == 5)
            #expect(try await tokens.count("\(revocations) WHERE reason = 'expired'") == 5)
        }
    }

    /// Two replicas never purge one table at once, and the next one goes on where the last one stopped.
    @Test func oneReplicaSweepsAtATime() async throws {
        try await TokensFixture.with { tokens in
            for _ in 0..<6 { try await tokens.age(tokens.signIn().sessionID, by: 0) }
            func sweeps(batch: Int) -> SweepStore {
                SweepStore(sessions: tokens.store, revocationRetention: 604_800, batch: batch)
            }
            let (first, second) = (sweeps(batch: 1), sweeps(batch: 100))
            #expect(try await first.step(.sessions) != nil)
            let swept = try await tokens.database.pool.query(
                "SELECT session_id FROM sweeps WHERE table_name = 'sessions'")[0].decode(UUID.self)
            try await tokens.database.pool.query("UPDATE sweeps SET due_at = now() + interval '1 minute'")
            #expect(try await second.step(.sessions) == nil, "it is not time for the next batch")
            try await tokens.database.pool.query("UPDATE sweeps SET due_at = now()")
            try await tokens.database.pool.withTransaction { transaction in
                try await transaction.query("SELECT FROM sweeps WHERE table_name = 'sessions' FOR UPDATE")
                #expect(try await second.step(.sessions) == nil, "another is at it")
                #expect(try await second.step(.users) != nil, "each table has a turn of its own")
            }
            // What the first has swept is not read again: a session that ended there meanwhile stays.
            try await tokens.age(swept, by: 2_592_001)
            #expect(try await second.step(.sessions) == second.rest)
            #expect(try await tokens.count("sessions") == 6)
            #expect(try await tokens.count("sweeps WHERE table_name = 'sessions' AND session_id IS NULL") == 1)
            try await tokens.database.pool.query("UPDATE sweeps SET due_at = now() + interval '2 hours'")
            #expect(try await second.step(.sessions) != nil, "no wait is as long: the clock was set back")
            #expect(try await tokens.count("sessions") == 5)
        }
    }

    /// A session that was used since gets its present day, and is not looked at before it.
    @Test func whatWasUsedIsLookedAtAgainOnItsNewDay() async throws {
        try await TokensFixture.with { tokens in
            let (used, today) = (try await tokens.signIn(), try await tokens.signIn())
            for token in [used, today] { try await tokens.age(token.sessionID, by: 0) }
            try await tokens.database.pool.query(
                "UPDATE sessions SET expires_at = now() + interval '1 second' WHERE id = \(today.sessionID)")
            #expect(try await tokens.purgeSessions() == 0)
            let days = try await tokens.database.pool.query(
                "SELECT id, expiry_day - (now() AT TIME ZONE 'UTC')::date FROM sessions"
            ).decode((UUID, Int32).self)
            let byID = Dictionary(uniqueKeysWithValues: days)
            #expect((29...30).contains(byID[used.sessionID] ?? 0))
            // At midnight a second is tomorrow.
            #expect((0...1).contains(byID[today.sessionID] ?? -1))
            try await tokens.database.pool.query("UPDATE sessions SET expires_at = now() - interval '1 second'")
            #expect(try await tokens.purgeSessions() <= 1, "the other one's day has not come")
        }
    }

    /// A user who has signed out everywhere is remembered until no sign-in from before can be in progress.
    @Test func aUserWhoSignedOutIsRemembered() async throws {
        try await TokensFixture.with { tokens in
            let (user, other) = (User.sample(), User.sample())
            for each in [user, other] { _ = try await tokens.signIn(each) }
            try await tokens.store.signOut(user.id, except: nil)
            try await tokens.store.revokeAll(of: other.id, reason: .logout)
            #expect(try await tokens.purgeUsers(sequencedAgo: 0) == 0, "the sessions' end is too recent")
            #expect(try await tokens.purgeUsers() == 1)
            #expect(try await tokens.count("users") == 1)
            try await tokens.database.pool.query("UPDATE users SET signed_out_at = now() - interval '1 day'")
            #expect(try await tokens.purgeUsers() == 1)
            // Of a user who has signed in again, only the memory goes.
            let token = try await tokens.signIn(user)
            try await tokens.store.signOut(user.id, except: token.sessionID)
            try await tokens.database.pool.query("UPDATE users SET signed_out_at = now() - interval '1 day'")
            #expect(try await tokens.purgeUsers() == 0)
            #expect(try await tokens.count("users WHERE signed_out_at IS NULL") == 1)
        }
    }

    /// The setting was lowered: a session that is refreshed expires by the new one, and is found then.
    @Test func aLowerIdleLifetimeBringsTheDayForward() async throws {
        try await TokensFixture.with { tokens in
            let token = try await tokens.signIn()
            let store = SessionStore(database: tokens.database.pool, lifetimes: .init(idle: 3600))
            _ = try await tokens.refresher(store: store).refresh(token)
            let days = try await tokens.database.pool.query(
                "SELECT expiry_day - (now() AT TIME ZONE 'UTC')::date FROM sessions")[0].decode(Int32.self)
            #expect((0...1).contains(days))
        }
    }

    /// A row that is locked is left for the next round.
    @Test func aPurgeOfSessionsWaitsForNobody() async throws {
        try await TokensFixture.with { tokens in
            let (held, free) = (try await tokens.signIn(), try await tokens.signIn())
            for token in [held, free] { try await tokens.age(token.sessionID, by: 2_592_001) }
            try await tokens.database.pool.withTransaction { transaction in
                try await transaction.query("UPDATE sessions SET late_replays = 1 WHERE id = \(held.sessionID)")
                #expect(try await tokens.purgeSessions() == 1)
            }
            #expect(try await tokens.purgeSessions() == 1)
            #expect(try await tokens.purgeUsers() == 2)
        }
    }

    /// A purge that is stopped halfway keeps its locks; no refresh and no sign-in waits for them.
    @Test func nobodyWaitsForAPurge() async throws {
        try await TokensFixture.with { tokens in
            let user = User.sample()
            let (dead, live) = (try await tokens.signIn(user), try await tokens.signIn(user))
            try await tokens.age(dead.sessionID, by: 2_592_001)
            let gate = try await tokens.database.connect()
            try await gate.query("SELECT pg_advisory_lock(7)")
            try await gate.query(
                """
                CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    IF NEW.reason = 'expired' THEN PERFORM pg_advisory_xact_lock(7); END IF;
                    RETURN NEW;
                END $$
                """)
            try await gate.query(
                "CREATE TRIGGER gate BEFORE INSERT ON pending_revocations FOR EACH ROW EXECUTE FUNCTION wait_at_gate()")
            let purge = Task { try await tokens.purgeSessions() }
            try await eventually("the purge is in its middle") {
                try await gate.query(
                    """
                    SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
                    WHERE datname = current_database() AND locktype = 'advisory' AND objid = 7 AND NOT granted
                    """
                )[0].decode(Int.self) == 1
            }
            #expect(try await tokens.refresher().refresh(live).refresh.generation == 1)
            _ = try await tokens.signIn(user)
            try await tokens.store.revoke(live.sessionID, reason: .logout)
            #expect(try await tokens.count("sessions") == 2, "the dead one, seen from outside, and the new one")
            try await gate.query("SELECT pg_advisory_unlock(7)")
            #expect(try await purge.value == 1)
            #expect(try await tokens.count("sessions") == 1)
            await gate.close()
        }
    }

    /// The sign-in's session is committed after the purge has its snapshot, before it locks the user.
    @Test func aUserWhoSignsInDuringAPurgeStays() async throws {
        try await TokensFixture.with { tokens in
            let (active, idle) = (User.sample(), User.sample())
            for user in [active, idle] {
                let token = try await tokens.signIn(user)
                try await tokens.store.revoke(token.sessionID, reason: .logout)
            }
            let pool = tokens.database.pool
            let purge = try await pool.withTransaction { signIn in
                try await signIn.query("SELECT FROM users WHERE id = \(active.id) FOR UPDATE")
                let purge = Task { try await tokens.purgeUsers() }
                try await eventually("the purge waits for the user") {
                    try await !pool.lockWaiters().isEmpty
                }
                try await signIn.query(
                    """
                    INSERT INTO sessions (bucket, id, user_id, credentials_version, current_hash, created_at, rotated_at,
                        expires_at, absolute_expires_at, access_expires_at, authenticated_at, authentication_methods,
                        expiry_day)
                    SELECT bucket_of(\(active.id)), gen_random_uuid(), \(active.id), 1, '\\x00', clock, clock,
                        clock + interval '1 day', clock + interval '1 day', clock, clock, '{}', current_date
                    FROM statement_timestamp() AS clock
                    """)
                return purge
            }
            #expect(try await purge.value == 1)
            #expect(try await tokens.count("users") == 1)
            #expect(try await tokens.count("sessions") == 1)
        }
    }

    /// A backlog is purged batch after batch; the pause comes only when nothing is left.
    @Test func aBacklogDoesNotWait() async throws {
        try await TokensFixture.with { tokens in
            try await tokens.database.pool.query(
                """
                INSERT INTO revocation_log (
                    seq, tag, entry_id, stamped_at, session_id, user_id, revoked_at, access_expires_at, reason)
                SELECT number, 0, gen_random_uuid(), now() - interval '30 days', gen_random_uuid(), gen_random_uuid(),
                    now() - interval '30 days', now() - interval '30 days', 'logout'
                FROM generate_series(1, 200) AS number
                """)
            try await tokens.database.pool.query(
                """
                INSERT INTO security_events (bucket, occurred_at, kind, user_id)
                SELECT number, now() - interval '3 years', 'userErased', gen_random_uuid()
                FROM generate_series(1, 200) AS number
                """)
            for _ in 0..<30 { try await tokens.age(tokens.signIn().sessionID, by: 2_592_001) }
            let purging = Task {
                await SweepStore(
                    sessions: tokens.store, revocationRetention: 604_800, batch: 10, pause: .seconds(1800),
                    rest: .seconds(1800), gap: .milliseconds(1)
                ).purger(logger: .quiet).run()
            }
            defer { purging.cancel() }
            try await eventually("all is purged but the feed's newest entry") {
                var left = try await tokens.count("sessions") + tokens.count("security_events")
                left += try await tokens.count("\(revocations) WHERE reason = 'logout'")
                return left == 1
            }
            #expect(try await tokens.count("\(revocations) WHERE reason = 'expired'") == 30)
        }
    }

    @Test func whatFailsStopsNothingElseAndIsTold() async throws {
        try await TokensFixture.with { tokens in
            try await tokens.age(tokens.signIn().sessionID, by: 2_592_001)
            try await tokens.database.pool.query(
                """
                INSERT INTO revocation_log (
                    seq, tag, entry_id, stamped_at, session_id, user_id, revoked_at, access_expires_at, reason)
                SELECT number, 0, gen_random_uuid(), now() - interval '30 days', gen_random_uuid(), gen_random_uuid(),
                    now(), now(), 'logout'
                FROM generate_series(1, 2) AS number
                """)
            try await tokens.database.pool.query("ALTER TABLE sessions RENAME COLUMN expires_at TO gone")
            let log = CapturedLog()
            let purging = Task {
                await SweepStore(sessions: tokens.store, revocationRetention: 604_800, pause: .milliseconds(10))
                    .purger(logger: log.logger).run()
            }
            defer { purging.cancel() }
            try await eventually("others are purged") { try await tokens.count("revocation_log") == 1 }
            try await eventually("it is told") { log.lines.contains { $0.hasPrefix("warning") } }
            try await tokens.database.pool.query("ALTER TABLE sessions RENAME COLUMN gone TO expires_at")
            try await eventually("it is tried again") { try await tokens.count("sessions") == 0 }
        }
    }
}

extension TokensFixture {
    fileprivate var sweeps: SweepStore { SweepStore(sessions: store, revocationRetention: 604_800) }

    fileprivate func purgeSessions() async throws -> Int {
        try await database.pool.withTransaction { try await sweeps.purgeSessions(after: .init(), on: $0).removed }
    }

    /// - Parameter seconds: since the sessions' ends were sequenced.
    fileprivate func purgeUsers(sequencedAgo seconds: Double = 3600) async throws -> Int {
        try await sequenceLongAgo(seconds)
        return try await database.pool.withTransaction {
            try await sweeps.purgeUsers(after: .init(), on: $0).removed
        }
    }

    fileprivate func sequenceLongAgo(_ seconds: Double = 3600) async throws {
        _ = try await feed()
        try await database.pool.query(
            "UPDATE revocation_log SET stamped_at = now() - \(seconds) * interval '1 second'")
    }
}
