import Contracts
import Foundation
import Postgres
import TestKit
import Testing

@testable import TokensService

/// What keeps the table small: ended sessions leave it, and rotations do not make it grow.
@Suite struct SessionTableTests {
    @Test func whatHasEndedIsPurgedInBatches() async throws {
        try await TokensFixture.with { tokens in
            var dead: [RefreshToken] = []
            for index in 0..<10 {
                let token = try await tokens.signIn()
                if index.isMultiple(of: 2) { dead.append(token) }
            }
            for token in dead { try await tokens.age(token.sessionID, by: 2_592_001) }
            let purger = Purger(
                store: tokens.store, revocationRetention: 604_800, logger: .quiet, batch: 4)
            var position = Purger.Position()
            var left = 10
            for _ in 0..<6 {
                try await purger.step(&position)
                let now = try await tokens.count("sessions")
                #expect(left - now <= 4, "no more than a batch at a time")
                left = now
            }
            #expect(left == 5)
            #expect(try await tokens.count("users") == 5)
            #expect(try await tokens.count("revocations WHERE reason = 'expired'") == 5)
        }
    }

    /// A row that somebody is at is left for the next round.
    @Test func aPurgeWaitsForNobody() async throws {
        try await TokensFixture.with { tokens in
            let (held, free) = (try await tokens.signIn(), try await tokens.signIn())
            for token in [held, free] { try await tokens.age(token.sessionID, by: 2_592_001) }
            try await tokens.database.pool.withTransaction(deadline: nil) { transaction in
                try await transaction.query("UPDATE sessions SET late_replays = 1 WHERE id = \(held.sessionID)")
                try await transaction.query("UPDATE users SET version = version")
                #expect(try await tokens.store.purgeSessions(after: nil, batch: 10).removed == 1)
                #expect(try await tokens.store.purgeUsers(after: nil, batch: 10).removed == 0)
            }
            #expect(try await tokens.store.purgeSessions(after: nil, batch: 10).removed == 1)
            #expect(try await tokens.store.purgeUsers(after: nil, batch: 10).removed == 2)
        }
    }

    /// A purge that is stopped in its middle, with all its locks, holds up no refresh and no sign-in.
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
                "CREATE TRIGGER gate BEFORE INSERT ON revocations FOR EACH ROW EXECUTE FUNCTION wait_at_gate()")
            let purge = Task { try await tokens.store.purgeSessions(after: nil, batch: 10).removed }
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
            try await tokens.store.revoke(live.sessionID, reason: .logout, deadline: .now + .seconds(20))
            #expect(try await tokens.count("sessions") == 2, "the dead one, seen from outside, and the new one")
            try await gate.query("SELECT pg_advisory_unlock(7)")
            #expect(try await purge.value == 1)
            #expect(try await tokens.count("sessions") == 1)
            await gate.close()
        }
    }

    /// Rotations write no index and reuse their page, or the table would grow with every refresh.
    @Test func rotationsAreHeapOnlyUpdates() async throws {
        try await TokensFixture.with { tokens in
            var token = try await tokens.signIn()
            for _ in 0..<200 {
                let next = RefreshToken(sessionID: token.sessionID, generation: token.generation + 1, keys: tokens.keys)
                let sealed = tokens.keys.seal(next, under: token)
                #expect(
                    try await tokens.store.rotate(token, to: next, sealed: sealed, ipAddress: nil, deadline: nil) != nil
                )
                token = next
            }
            // Statistics come a moment after the work.
            try await eventually("200 updates, all of them heap-only") {
                try await tokens.database.pool.query("SELECT pg_stat_force_next_flush()")
                let updates = try await tokens.database.pool.query(
                    "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'sessions'"
                ).decode((Int, Int).self)
                // A page that is just full may send a row to another one.
                return updates[0].0 == 200 && updates[0].1 >= 180
            }
        }
    }
}
