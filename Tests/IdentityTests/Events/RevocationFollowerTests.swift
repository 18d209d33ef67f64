import AsyncHTTPClient
import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import Postgres
import Sealing
import ServiceKitPostgres
import Synchronization
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityService

/// The end of every session comes into the audit log once, whatever becomes of tokens and of the replicas that read.
@Suite struct RevocationFollowerTests {
    private struct Fixture: Sendable {
        let pool: PostgresPool
        let tokens: FakeTokens
        let follower: RevocationFollower
        let log: CapturedLog

        var store: RevocationPositionStore { follower.store }

        func end(_ session: UUID = UUID(), of user: UUID = UUID(), reason: RevocationReason = .logout) {
            tokens.state.withLock { $0.feed.end(session, of: user, reason: reason) }
        }

        /// Reads until there is no more, as a process does that has found the feed free.
        func drain() async throws {
            var claim = try #require(try await store.claim())
            var asked: String?
            repeat {
                asked = claim.cursor
                claim = try #require(try await readPage(claim))
            } while asked != claim.cursor
            try await store.release(claim)
        }

        /// Reads a page again if the client's timeout has passed, as on a busy machine.
        private func readPage(_ claim: RevocationPositionStore.Claim) async throws -> RevocationPositionStore.Claim? {
            for _ in 1..<5 {
                do { return try await follower.readPage(claim, waiting: 0) } catch is ServiceClientError {}
            }
            return try await follower.readPage(claim, waiting: 0)
        }

        /// The sessions whose end was written down, in the order of their entries.
        func ended() async throws -> [UUID] {
            try await pool.query(
                "SELECT session_id FROM audit_entries WHERE event = 'session_revoked' ORDER BY id"
            ).decode(UUID.self)
        }
    }

    private func with(
        _ limits: PostgresPoolConfiguration = .patient, _ body: @Sendable (Fixture) async throws -> Void
    ) async throws {
        let tokens = FakeTokens()
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = PostgresPool(configuration: try .patient(database.url), pool: limits)
            defer { pool.close() }
            try await withHTTPServer(tokens.router()) { url in
                let log = CapturedLog()
                let client = ServiceClient(
                    callee: "tokens", urls: [url], credential: FakeTokens.credentials[0], httpClient: .shared)
                let follower = RevocationFollower(
                    tokens: TokensClient(client: client), store: RevocationPositionStore(database: pool),
                    events: EventFeedStore(database: pool, logger: .quiet), logger: log.logger)
                try await body(Fixture(pool: pool, tokens: tokens, follower: follower, log: log))
            }
        }
    }

    @Test func theEndOfASessionBecomesAnEntryAndAnEvent() async throws {
        try await with { fixture in
            fixture.end()
            try await fixture.drain()
            // What ended before is not told.
            #expect(try await fixture.ended() == [])
            let feed = EventFeedStore(database: fixture.pool, logger: .quiet)
            let start = try await feed.page(after: EventFeedStore.latest, waitingUntil: .now).cursor

            let (user, session) = (UUID(), UUID())
            let time = Date(timeIntervalSince1970: 1_700_000_000)
            fixture.tokens.state.withLock { $0.feed.end(session, of: user, at: time, reason: .replay) }
            try await fixture.drain()
            let record = try #require(
                try await AuditStore(database: fixture.pool).page(of: user, before: nil, limit: 10).first)
            #expect(record.event == "session_revoked" && record.actor == "system" && record.actorID == nil)
            #expect(record.at == time && record.sessionID == session && record.detail == "replay")
            #expect(record.origin == nil)
            try await feed.sequencer.sequence()
            let event = try #require(try await feed.page(after: start, waitingUntil: .now).events.first)
            #expect(event.type == .sessionRevoked && event.userID == user && event.sessionID == session.path)
            #expect(event.occurredAt == time && event.reason == .replay && event.intoUserID == nil)
            let export = try await AuditStore(database: fixture.pool).events(of: user)
            #expect(export.map(\.event) == ["session_revoked"] && export.first?.sessionId == session.path)
            #expect(fixture.log.lines == [])
        }
    }

    @Test func theFeedIsFollowedWhileRequestsHoldTheirConnections() async throws {
        var limits = PostgresPoolConfiguration.patient
        (limits.maximumConnections, limits.reservedConnections) = (2, 1)
        try await with(limits) { fixture in
            try await fixture.drain()
            let session = UUID()
            fixture.end(session)
            try await fixture.pool.withConnection { _ in
                try await fixture.drain()
                #expect(try await fixture.store.readAt() != nil)
            }
            #expect(try await fixture.ended() == [session])
        }
    }

    @Test func pagesFollowEachOther() async throws {
        try await with { fixture in
            try await fixture.drain()
            fixture.tokens.state.withLock { $0.feed.pageSize = 2 }
            let sessions = (0..<5).map { _ in UUID() }
            for session in sessions { fixture.end(session) }
            try await fixture.drain()
            #expect(try await fixture.ended() == sessions)
        }
    }

    /// Two processes at once. One reads; when it ends, the other goes on at once.
    @Test func oneReplicaFollowsAtATimeAndAnotherGoesOn() async throws {
        try await with { fixture in
            try await fixture.drain()
            var sessions: Set<UUID> = []
            var replicas = (0..<2).map { _ in Task { try await fixture.follower.run() } }
            for _ in 0..<2 {
                for _ in 0..<20 {
                    let session = UUID()
                    sessions.insert(session)
                    fixture.end(session)
                }
                let expected = sessions.count
                try await eventually("all are written") { try await fixture.ended().count == expected }
                // A request that was broken off may still be answered.
                if replicas.count == 2 { #expect(fixture.tokens.state.withLock { $0.feed.mostReading } == 1) }
                let replica = replicas.removeFirst()
                replica.cancel()
                try await replica.value
            }
            #expect(try await Set(fixture.ended()) == sessions)
            // The claim was given back.
            #expect(try await fixture.store.claim() != nil)
        }
    }

    /// It was held up, its claim ran out, and another process has written the page.
    @Test func whoHasLostTheFeedWritesNothing() async throws {
        try await with { fixture in
            try await fixture.drain()
            let session = UUID()
            fixture.end(session)
            let slow = try #require(try await fixture.store.claim())
            #expect(try await fixture.store.claim() == nil)
            try await fixture.pool.query("UPDATE revocation_feed SET claimed_until = now()")
            let other = try #require(try await fixture.store.claim())
            #expect(other.cursor == slow.cursor)
            #expect(try await fixture.follower.readPage(slow, waiting: 0) == nil)
            #expect(try await fixture.ended() == [])
            #expect(try await fixture.follower.readPage(other, waiting: 0) != nil)
            #expect(try await fixture.follower.readPage(slow, waiting: 0) == nil)
            // Nor does it give away what is no longer its own.
            try await fixture.store.release(slow)
            #expect(try await fixture.store.claim() == nil)
            #expect(try await fixture.ended() == [session])
        }
    }

    /// The entries and the cursor are committed together: what breaks off in between is read again.
    @Test func aPageIsWrittenWholeOrNotAtAll() async throws {
        try await with { fixture in
            try await fixture.drain()
            let sessions = [UUID(), UUID()]
            for session in sessions { fixture.end(session) }
            try await fixture.pool.query(
                """
                ALTER TABLE audit_entries ADD CONSTRAINT breaks
                CHECK (session_id <> \(unescaped: "'\(sessions[1].uuidString)'"))
                """)
            let claim = try #require(try await fixture.store.claim())
            await #expect(throws: PostgresError.self) { try await fixture.follower.readPage(claim, waiting: 0) }
            #expect(try await fixture.ended() == [])
            try await fixture.store.release(claim)
            try await fixture.pool.query("ALTER TABLE audit_entries DROP CONSTRAINT breaks")
            try await fixture.drain()
            #expect(try await fixture.ended() == sessions)
        }
    }

    /// tokens' cursors mean nothing any more, and the feed tells again what it has.
    @Test func afterAResetNothingIsMissingAndNothingIsToldTwice() async throws {
        try await with { fixture in
            try await fixture.drain()
            let sessions = [UUID(), UUID()]
            fixture.end(sessions[0])
            try await fixture.drain()
            fixture.end(sessions[1])
            fixture.tokens.state.withLock { $0.feed.generation += 1 }
            try await fixture.drain()
            #expect(try await fixture.ended() == sessions)
            #expect(fixture.log.lines.count == 1)
        }
    }

    @Test func whileTokensIsAwayItIsAskedAgain() async throws {
        try await with { fixture in
            try await fixture.drain()
            fixture.tokens.state.withLock { $0.feed.isDown = true }
            let before = fixture.tokens.state.withLock(\.feed.cursors.count)
            let replica = Task { try await fixture.follower.run() }
            try await eventually("tokens is asked again") {
                fixture.tokens.state.withLock { $0.feed.cursors.count > before + 1 }
            }
            let session = UUID()
            fixture.end(session)
            fixture.tokens.state.withLock { $0.feed.isDown = false }
            try await eventually("it is told") { try await fixture.ended() == [session] }
            replica.cancel()
            try await replica.value
            #expect(!fixture.log.lines.isEmpty)
        }
    }

    /// During a deployment tokens may still be of the version before.
    @Test func aTokensThatCannotSayWhereItEndsIsAskedAgain() async throws {
        try await with { fixture in
            fixture.end()
            fixture.tokens.state.withLock { $0.feed.knowsLatest = false }
            let claim = try #require(try await fixture.store.claim())
            await #expect(throws: RevocationFollower.UnknownEnd.self) {
                try await fixture.follower.readPage(claim, waiting: 0)
            }
            try await fixture.store.release(claim)
            #expect(try await fixture.store.claim()?.cursor == nil)
            #expect(try await fixture.ended() == [])
        }
    }

    /// An end that was long ago when it was told is sealed as every entry is.
    @Test func theChainOfHashesCoversThem() async throws {
        try await with { fixture in
            try await fixture.drain()
            let seals = AuditSealStore(database: fixture.pool, keys: .sample)
            for days in [0.0, 3] {
                fixture.tokens.state.withLock { state in
                    state.feed.end(UUID(), of: UUID(), at: .now - days * 86_400, reason: .expired)
                }
                try await fixture.drain()
                try await sequenceAudit(on: fixture.pool)
                #expect(try await seals.seal() != nil)
            }
            let result = try await seals.verify(days: nil)
            #expect(result.flaws == [] && result.entries == 2)
        }
    }
}
