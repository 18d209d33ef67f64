import Foundation
import GatehouseServiceContracts
import Postgres
import ServiceKitPostgres
import TestKit
import Testing

@testable import TokensService

/// A primary crashes; then a standby is promoted, or the primary restarts.
@Suite(.serialized) struct PromotionTests {
    /// The new primary gives the numbers of lost entries out again. A reader that had read those must still get the
    /// entries that have the numbers now.
    @Test func noEntryIsSkippedForOneThatWasLost() async throws {
        try await withPostgresServer { primary in
            try await migrate(primary)
            try await withPostgresStandby(of: primary) { standby in
                let (before, after) = (try side(primary), try side(standby))
                defer { for side in [before, after] { side.pool.close() } }
                // So much to write that the checkpoint after the promotion takes longer than what follows.
                try await before.pool.query(
                    "CREATE TABLE filler AS SELECT repeat('x', 1000) FROM generate_series(1, 4000)",
                    deadline: .now + .seconds(60))
                try await standby.catchUp(with: primary)
                try await standby.alter("primary_conninfo = ''")
                for _ in 0..<50 { try await revoke(UUID(), on: before) }
                var reader = FeedReader()
                try await reader.follow(before.feed)
                #expect(reader.seen.count == 50)
                await primary.kill()
                try await standby.promote()
                // More than the reader has seen, so that its number is among the new ones.
                var written: Set<UUID> = []
                for _ in 0..<60 {
                    let session = UUID()
                    try await revoke(session, on: after)
                    written.insert(session)
                }
                try await reader.follow(after.feed)
                #expect(reader.seen.isSuperset(of: written), "\(written.subtracting(reader.seen).count) were skipped")
                #expect(reader.resets == 1)
            }
        }
    }

    /// A standby that had received everything takes over: no reader starts over, and the numbers continue.
    @Test func aCleanPromotionResetsNoReader() async throws {
        try await withPostgresServer { primary in
            try await migrate(primary)
            try await withPostgresStandby(of: primary) { standby in
                let (before, after) = (try side(primary), try side(standby))
                defer { for side in [before, after] { side.pool.close() } }
                try await revoke(UUID(), on: before)
                var reader = FeedReader()
                try await reader.follow(before.feed)
                let pending = UUID()
                try await revoke(pending, on: before)
                try await standby.catchUp(with: primary)
                await primary.stop()
                try await standby.promote()
                try await reader.follow(after.feed)
                #expect(reader.seen.contains(pending), "it was sequenced after the promotion")
                #expect(reader.resets == 0)
            }
        }
    }

    /// A waiting reader sends no query. It fails all the same when PostgreSQL becomes unavailable.
    @Test func aReaderThatWaitsNoticesThatPostgreSQLIsGone() async throws {
        try await withPostgresServer { server in
            try await migrate(server)
            let side = try side(server)
            defer { side.pool.close() }
            let feed = side.feed
            let running = Task { await feed.sequencer.run() }
            defer { running.cancel() }
            let cursor = try await feed.page(after: nil, waitingUntil: .now).cursor
            let waiting = Task { try await feed.page(after: cursor, waitingUntil: .now + .seconds(120)) }
            await server.kill()
            await #expect(throws: PostgresError.self) { try await waiting.value }
        }
    }

    /// PostgreSQL crashes between two sequencings: what was committed is sequenced later, under the next numbers.
    @Test func aCrashLosesNoPendingEntry() async throws {
        try await withPostgresServer { server in
            try await migrate(server)
            let side = try side(server)
            defer { side.pool.close() }
            try await revoke(UUID(), on: side)
            var reader = FeedReader()
            try await reader.follow(side.feed)
            let pending = UUID()
            try await revoke(pending, on: side)
            try await server.restart()
            try await eventually("the pool has noticed") { await side.pool.probe() }
            try await reader.follow(side.feed)
            #expect(reader.seen.contains(pending) && reader.seen.count == 2 && reader.resets == 0)
        }
    }

    /// Clients refresh and sessions end while the primary is lost. Nothing that was answered is missing.
    @Test func aSynchronousStandbyLosesNothing() async throws {
        try await failOver(losing: false) { load, after in
            #expect(load.signedOut.isEmpty)
            #expect(load.refreshed(afterSwitch: true) == FailoverLoad.clients)
            let revoked = Set(try await after.pool.query(Self.entries).decode(UUID.self))
            #expect(revoked.isSuperset(of: load.revoked), "a session that was ended lives again")
        }
    }

    /// Rotations that the standby has not received are lost: clients that were given those successors are signed out.
    /// That counts as no theft, and a client that did not refresh at that moment notices nothing.
    @Test func anAsynchronousStandbySignsOutWhoseRotationItLost() async throws {
        try await failOver(losing: true) { load, after in
            #expect(load.signedOut.count == FailoverLoad.clients)
            #expect(load.quietOneWasServed)
            let thefts = try await after.pool.query("SELECT count(*) FROM security_events")[0].decode(Int.self)
            #expect(thefts == 0)
        }
    }

    /// - Parameter losing: whether the standby is cut off a while before the primary is lost.
    private func failOver(
        losing: Bool, _ check: @Sendable (FailoverLoad, ServiceSide) async throws -> Void
    ) async throws {
        try await withPostgresServer { primary in
            try await migrate(primary)
            try await withPostgresStandby(of: primary, name: "standby") { standby in
                if !losing { try await primary.alter("synchronous_standby_names = 'standby'") }
                try await TokensFixture.with { tokens in
                    let (before, after) = (try side(primary), try side(standby))
                    defer { for side in [before, after] { side.pool.close() } }
                    let load = try await FailoverLoad(tokens, from: before)
                    try await load.run {
                        try await eventually("all have refreshed") { load.refreshed() == FailoverLoad.clients }
                        if losing {
                            try await standby.catchUp(with: primary)
                            try await standby.alter("primary_conninfo = ''")
                            try await load.everyClientRefreshesAgain()
                        }
                        await primary.kill()
                        try await standby.promote()
                        load.switch(to: after)
                        try await load.everyClientRefreshesAgainOrIsSignedOut()
                    }
                    // A statement that was cancelled as the load ended may commit a moment later.
                    try await eventually("nothing is under way") {
                        try await after.pool.query(
                            """
                            SELECT count(*) FROM pg_stat_activity
                            WHERE backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid()
                            """
                        )[0].decode(Int.self) == 0
                    }
                    try await check(load, after)
                    #expect(load.forks.isEmpty, "two successors of one token")
                    // The reader was told of every entry that the database holds now.
                    try await load.readFeed()
                    let rows = try await after.pool.query(Self.entries)
                    let skipped = Set(try rows.decode(UUID.self)).subtracting(load.seen)
                    #expect(skipped.isEmpty, "the feed skipped \(skipped.count)")
                }
            }
        }
    }

    private static let entries: PostgresQuery =
        "SELECT session_id FROM revocation_log UNION SELECT session_id FROM pending_revocations"

    private func migrate(_ server: PostgresServer) async throws {
        let connection = try await PostgresConnection.patient(server.url())
        try await PostgresMigrator(migrations: Migrations.all, logger: .quiet).up(on: connection)
        await connection.close()
    }

    private func side(_ server: PostgresServer) throws -> ServiceSide {
        ServiceSide(pool: PostgresPool(configuration: try PostgresConfiguration(url: server.url()), pool: .patient))
    }

    private func revoke(_ session: UUID, on side: ServiceSide) async throws {
        try await side.pool.query(
            """
            INSERT INTO pending_revocations (bucket, session_id, user_id, access_expires_at, reason)
            VALUES (0, \(session), \(UUID()), now() + interval '1 hour', 'logout')
            """, deadline: .now + .seconds(60))
    }
}
