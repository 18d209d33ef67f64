import Foundation
import GatehouseServiceContracts
import Postgres
import ServiceKitPostgres
import Synchronization
import TestKit
import Testing

@testable import TokensService

@Suite struct RevocationFeedTests {
    /// Sequences and reads from a cursor until there are no more entries.
    private func read(
        _ feed: RevocationFeed, after cursor: String?, verifiesOnly: Bool = false
    ) async throws -> (sessions: [UUID], cursor: String) {
        while try await feed.sequencer.sequence() > 0 {}
        var sessions: [UUID] = []
        var cursor = cursor
        while true {
            let page = try await feed.page(after: cursor, verifiesOnly: verifiesOnly, waitingUntil: .now)
            #expect(!page.reset)
            sessions += page.entries.map(\.sessionID)
            cursor = page.cursor
            if !page.more { return (sessions, page.cursor) }
        }
    }

    private func revoke(_ session: UUID, on connection: some PostgresQuerying) async throws {
        try await connection.query(
            """
            INSERT INTO pending_revocations (bucket, session_id, user_id, access_expires_at, reason)
            VALUES (0, \(session), \(UUID()), now() + interval '1 hour', 'logout')
            """)
    }

    @Test(arguments: [1, 3, 1000]) func everyEntryIsReadOnce(pageSize: Int) async throws {
        try await TokensFixture.with { tokens in
            let feed = try await tokens.feed(pageSize: pageSize)
            let empty = try await read(feed, after: nil)
            #expect(empty.sessions.isEmpty)
            let sessions = (0..<10).map { _ in UUID() }
            for session in sessions { try await revoke(session, on: tokens.database.pool) }
            #expect(try await read(feed, after: nil).sessions == sessions)
            let (found, cursor) = try await read(feed, after: empty.cursor)
            #expect(found == sessions)
            #expect(try await read(feed, after: cursor).sessions.isEmpty)
        }
    }

    @Test func readersAreServedWhileRequestsHoldTheirConnections() async throws {
        try await TokensFixture.with { tokens in
            var limits = PostgresPoolConfiguration.patient
            (limits.maximumConnections, limits.reservedConnections) = (2, 1)
            let pool = PostgresPool(configuration: try .patient(tokens.database.url), pool: limits)
            defer { pool.close() }
            let session = UUID()
            try await revoke(session, on: pool)
            try await pool.withConnection { _ in
                let found = try await read(RevocationFeed(database: pool, logger: .quiet), after: nil)
                #expect(found.sessions == [session])
            }
        }
    }

    @Test func anEntrySaysHowOldItIs() async throws {
        try await TokensFixture.with { tokens in
            try await tokens.database.pool.query(
                """
                INSERT INTO pending_revocations (bucket, session_id, user_id, access_expires_at, reason, revoked_at)
                VALUES (0, gen_random_uuid(), gen_random_uuid(), now(), 'logout', now() - interval '90.5 seconds'),
                    (0, gen_random_uuid(), gen_random_uuid(), now(), 'logout', now() + interval '1 hour')
                """)
            let feed = try await tokens.feed()
            let ages = try await feed.page(after: nil, waitingUntil: .now).entries.compactMap(\.age)
            try #require(ages.count == 2)
            #expect(ages[0] >= 90.5 && ages[0] < 3600 && ages[1] == 0)
        }
    }

    /// A verifier's cursor passes over what it does not get.
    @Test func verifiersGetOnlyWhatAnAccessTokenMayNeed() async throws {
        try await TokensFixture.with { tokens in
            let alive = UUID()
            for (session, reason, lifetime) in [
                (alive, "logout", -290.0), (UUID(), "logout", -310), (UUID(), "expired", 3600),
            ] {
                try await tokens.database.pool.query(
                    """
                    INSERT INTO pending_revocations (bucket, session_id, user_id, access_expires_at, reason)
                    VALUES (0, \(session), \(UUID()), now() + \(lifetime) * interval '1 second', \(reason))
                    """)
            }
            let feed = try await tokens.feed(pageSize: 2)
            let (sessions, cursor) = try await read(feed, after: nil, verifiesOnly: true)
            #expect(sessions == [alive])
            #expect(try await read(feed, after: cursor).sessions.isEmpty)
            #expect(try await read(feed, after: nil).sessions.count == 3)
            let page = try await feed.accessPage(after: nil, waitingUntil: .now)
            let entry = try #require(page.entries?.first)
            #expect(page.entries?.count == 1 && entry.sessionID == alive && page.cursor == cursor && !page.more)
            let lifetime = Double(entry.accessExpiresAt) - Date.now.timeIntervalSince1970
            #expect(lifetime > -300 && lifetime <= -289 && entry.age >= 0 && entry.age < 60)
        }
    }

    /// The replay of an answer brings an access token that lives longer than the session's row says.
    @Test("An answer is repeated: the session's entry outlives the access token of the repetition")
    func entryAfterARepeatedAnswer() async throws {
        try await TokensFixture.with { tokens in
            let session = try await tokens.signIn()
            let refresher = try tokens.refresher()
            _ = try await refresher.refresh(session)
            try await tokens.database.pool.query(
                "UPDATE sessions SET access_expires_at = now() - interval '1 hour' WHERE id = \(session.sessionID)")
            _ = try await refresher.refresh(session)
            try await tokens.store.revoke(session.sessionID, reason: .logout)
            let found = try await read(tokens.feed(), after: nil, verifiesOnly: true)
            #expect(found.sessions == [session.sessionID])
        }
    }

    /// The entry that was added first commits after the others were read.
    @Test func whatCommitsLateIsNotSkipped() async throws {
        try await TokensFixture.with { tokens in
            let feed = try await tokens.feed(pageSize: 2)
            let late = UUID()
            let early = (0..<5).map { _ in UUID() }
            let connection = try await tokens.database.connect()
            var cursor: String?
            try await connection.withTransaction { transaction in
                try await revoke(late, on: transaction)
                for session in early { try await revoke(session, on: tokens.database.pool) }
                let first = try await read(feed, after: nil)
                #expect(first.sessions == early)
                cursor = first.cursor
                #expect(try await read(feed, after: cursor).sessions.isEmpty)
            }
            await connection.close()
            #expect(try await read(feed, after: cursor).sessions == [late])
        }
    }

    /// Four writers, two replicas that sequence, and 20 readers of different pages.
    @Test func writersInAnyOrderLoseNothing() async throws {
        try await TokensFixture.with { tokens in
            let sessions = (0..<200).map { _ in UUID() }
            let pool = tokens.database.pool
            try await withThrowingTaskGroup(of: Void.self) { group in
                let feeds = (0..<2).map { _ in RevocationFeed(database: pool, pageSize: 7, logger: .quiet) }
                for feed in feeds { group.addTask { await feed.sequencer.run() } }
                for part in 0..<4 {
                    group.addTask {
                        for index in stride(from: part, to: sessions.count, by: 4) {
                            try await pool.withTransaction { transaction in
                                try await revoke(sessions[index], on: transaction)
                                if index.isMultiple(of: 5) { try await transaction.query("SELECT pg_sleep(0.005)") }
                            }
                            if index.isMultiple(of: 3) { feeds[index % 2].sequencer.wake() }
                        }
                    }
                }
                try await withThrowingTaskGroup(of: [UUID].self) { readers in
                    for number in 0..<20 {
                        readers.addTask {
                            var (found, cursor): ([UUID], String?) = ([], nil)
                            while found.count < sessions.count {
                                let end = ContinuousClock.now + .seconds(60)
                                let page = try await feeds[number % 2].page(after: cursor, waitingUntil: end)
                                // After a minute without an entry, the rest never comes.
                                if page.entries.isEmpty, cursor != nil { break }
                                found += page.entries.map(\.sessionID)
                                cursor = page.cursor
                            }
                            return found
                        }
                    }
                    for try await found in readers {
                        #expect(found.count == sessions.count && Set(found) == Set(sessions))
                    }
                }
                group.cancelAll()
            }
            let numbers = try await pool.query("SELECT seq FROM revocation_log ORDER BY seq").decode(Int64.self)
            #expect(numbers == Array(1...200))
        }
    }

    /// Readers that wait need no statement, and share that which reads an entry.
    @Test func readersOfAReplicaShareItsPolls() async throws {
        try await TokensFixture.with { tokens in
            let polls = Mutex(0)
            var configuration = try PostgresConfiguration.patient(tokens.database.url)
            configuration.onStatement = { sql in
                if sql.contains("own_tag") { polls.withLock { $0 += 1 } }
                return nil
            }
            let pool = PostgresPool(configuration: configuration, pool: .patient)
            defer { pool.close() }
            let feed = RevocationFeed(database: pool, logger: .quiet)
            let running = Task { await feed.sequencer.run() }
            defer { running.cancel() }
            let cursor = try await feed.page(after: nil, waitingUntil: .now).cursor
            try await feed.sequencer.sequence()
            let session = UUID()
            let before = polls.withLock(\.self)
            try await withThrowingTaskGroup(of: [UUID].self) { readers in
                for _ in 0..<20 {
                    readers.addTask {
                        try await feed.page(after: cursor, waitingUntil: .now + .seconds(60)).entries.map(\.sessionID)
                    }
                }
                try await revoke(session, on: tokens.database.pool)
                for try await found in readers { #expect(found == [session]) }
            }
            let count = polls.withLock(\.self) - before
            #expect((1...5).contains(count), "\(count) statements for 20 readers")
        }
    }

    /// One call moves a bounded number of entries, so that it holds the lock for a short time.
    @Test func aBacklogIsSequencedInBatches() async throws {
        try await TokensFixture.with { tokens in
            let feed = try await tokens.feed()
            try await tokens.database.pool.query(
                """
                INSERT INTO pending_revocations (bucket, session_id, user_id, access_expires_at, reason)
                SELECT 0, gen_random_uuid(), gen_random_uuid(), now(), 'logout' FROM generate_series(1, 1001)
                """)
            #expect(try await feed.sequencer.sequence() == 1000)
            #expect(try await feed.sequencer.sequence() == 1)
            let numbers = try await tokens.database.pool.query("SELECT seq FROM revocation_log ORDER BY seq")
            #expect(try numbers.decode(Int64.self) == Array(1...1001))
        }
    }

    @Test(
        "A replica dies before it sequences its entry: a reader that waits at another one gets it",
        .timeLimit(.minutes(1))
    )
    func entryOfADeadReplica() async throws {
        try await TokensFixture.with { tokens in
            let feed = try await tokens.feed()
            let running = Task { await feed.sequencer.run() }
            defer { running.cancel() }
            let cursor = try await feed.page(after: nil, waitingUntil: .now).cursor
            let waiting = Task { try await feed.page(after: cursor, waitingUntil: .now + .seconds(3600)) }
            let session = UUID()
            try await revoke(session, on: tokens.database.pool)
            #expect(try await waiting.value.entries.map(\.sessionID) == [session])
        }
    }

    @Test("A reader comes while the sequencer rests: it gets a dead replica's entry at once", .timeLimit(.minutes(1)))
    func entryWhileTheSequencerRests() async throws {
        try await TokensFixture.with { tokens in
            let sequencer = SequencedFeed(
                log: "revocation_log", function: "stamp_revocations", database: tokens.database.pool,
                interval: .milliseconds(10), rest: .seconds(3600), sequencesAtOnce: true, logger: .quiet)
            let sessions = SequencedFeed.View(columns: "session_id", pageSize: 10) {
                try $0.decode("session_id", as: UUID.self)
            }
            let running = Task { await sequencer.run() }
            defer { running.cancel() }
            let cursor = try await sequencer.page(sessions, after: nil, waitingUntil: .now).cursor
            try await eventually("the sequencer rests") { sequencer.isResting }
            let session = UUID()
            try await revoke(session, on: tokens.database.pool)
            let page = try await sequencer.page(sessions, after: cursor, waitingUntil: .now + .seconds(3600))
            #expect(page.entries == [session])
        }
    }

    /// PostgreSQL ends a sequencer that waits for the lock. Another one sequences its entry, once.
    @Test func aSequencerThatIsKilledLeavesItsEntriesToOthers() async throws {
        try await TokensFixture.with { tokens in
            let pool = tokens.database.pool
            let session = UUID()
            try await revoke(session, on: pool)
            let holder = try await tokens.database.connect()
            try await holder.withTransaction { transaction in
                try await transaction.query("SELECT only_row FROM revocation_head FOR UPDATE")
                let killed = Task { try await RevocationFeed(database: pool, logger: .quiet).sequencer.sequence() }
                var waiters: [Int32] = []
                try await eventually("it waits for the lock") {
                    waiters = try await pool.lockWaiters(running: "stamp_")
                    return !waiters.isEmpty
                }
                try await transaction.query("SELECT pg_terminate_backend(\(waiters[0]))")
                await #expect(throws: PostgresError.self) { try await killed.value }
            }
            await holder.close()
            let feed = try await tokens.feed()
            #expect(try await read(feed, after: nil).sessions == [session])
            #expect(try await tokens.count("pending_revocations") == 0)
        }
    }

    /// A replica that was stopped after PostgreSQL had sequenced its entries does not sequence them again.
    @Test func anEntryThatIsInTheLogIsNotAddedAgain() async throws {
        try await TokensFixture.with { tokens in
            let feed = try await tokens.feed()
            try await revoke(UUID(), on: tokens.database.pool)
            let once = try await read(feed, after: nil)
            try await tokens.database.pool.query(
                """
                INSERT INTO pending_revocations (bucket, entry_id, session_id, user_id, access_expires_at, reason)
                SELECT 0, entry_id, session_id, user_id, access_expires_at, reason FROM revocation_log
                """)
            #expect(try await read(feed, after: once.cursor).sessions.isEmpty)
            #expect(try await tokens.count("revocation_log") == 1)
            #expect(try await tokens.count("pending_revocations") == 0)
        }
    }

    @Test func aCursorFromBeforeWhatIsKeptStartsOver() async throws {
        try await TokensFixture.with { tokens in
            let feed = try await tokens.feed()
            let before = try await read(feed, after: nil).cursor
            try await revoke(UUID(), on: tokens.database.pool)
            let between = try await read(feed, after: before).cursor
            let kept = UUID()
            try await revoke(kept, on: tokens.database.pool)
            try await feed.sequencer.sequence()
            try await tokens.database.pool.query("UPDATE revocation_log SET stamped_at = now() - interval '8 days'")
            try await tokens.purgeRevocations()
            #expect(try await tokens.count("revocation_log") == 1)
            for cursor in [before, between] {
                let page = try await feed.page(after: cursor, waitingUntil: .now)
                #expect(page.reset && page.entries.isEmpty)
                #expect(try await read(feed, after: page.cursor).sessions == [kept])
            }
        }
    }

    /// Weeks pass, by a moved clock. What was read last stays, so that the reader goes on where it was.
    @Test func aQuietFeedResetsNobody() async throws {
        try await TokensFixture.with { tokens in
            let feed = try await tokens.feed()
            let empty = try await read(feed, after: nil).cursor
            try await tokens.purgeRevocations()
            #expect(try await read(feed, after: empty).cursor == empty)
            for _ in 0..<3 { try await revoke(UUID(), on: tokens.database.pool) }
            let cursor = try await read(feed, after: empty).cursor
            for _ in 0..<3 {
                try await tokens.database.pool.query(
                    "UPDATE revocation_log SET stamped_at = now() - interval '30 days'")
                try await tokens.purgeRevocations()
                #expect(try await read(feed, after: cursor).cursor == cursor)
            }
            // The purge comes between the next entry and the reader.
            let next = UUID()
            try await revoke(next, on: tokens.database.pool)
            try await feed.sequencer.sequence()
            try await tokens.purgeRevocations()
            #expect(try await read(feed, after: cursor).sessions == [next])
        }
    }

    /// Only what is older than everything that is kept is purged, whatever the server's clock did.
    @Test func nothingIsPurgedBehindAnEntryThatIsKept() async throws {
        try await TokensFixture.with { tokens in
            let feed = try await tokens.feed()
            for _ in 0..<4 { try await revoke(UUID(), on: tokens.database.pool) }
            let all = try await read(feed, after: nil).sessions
            try await tokens.database.pool.query(
                "UPDATE revocation_log SET stamped_at = now() - interval '8 days' WHERE seq <> 2")
            try await tokens.purgeRevocations()
            #expect(try await read(feed, after: nil).sessions == all, "the last old one stays too")
            try await tokens.database.pool.query(
                "UPDATE revocation_log SET stamped_at = now() - interval '8 days' * (seq <> 4)::integer")
            try await tokens.purgeRevocations()
            #expect(try await read(feed, after: nil).sessions == Array(all[2...]))
        }
    }

    /// One page looks at a bounded number of entries, so that no number of expired ones keeps a gateway from starting.
    @Test("Many entries are not for a reader: its pages pass over them in bounded steps")
    func skippedEntries() async throws {
        try await TokensFixture.with { tokens in
            let session = UUID()
            try await tokens.database.pool.query(
                """
                INSERT INTO revocation_log (
                    seq, tag, entry_id, session_id, user_id, revoked_at, access_expires_at, reason)
                SELECT number, number, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now(), now(), 'expired'
                FROM generate_series(1000000, 1120000) AS number
                """, deadline: .now + .seconds(60))
            try await revoke(session, on: tokens.database.pool)
            let feed = try await tokens.feed()
            let first = try await feed.page(after: nil, verifiesOnly: true, waitingUntil: .now)
            #expect(first.entries.isEmpty && first.more && first.cursor.hasPrefix("1099999-"))
            #expect(try await read(feed, after: nil, verifiesOnly: true).sessions == [session])
        }
    }

    @Test(arguments: ["x", "AAAA", "!", "MS0xLzU6NTo", "1-0", "7-ff"])
    func cursorsOfAnotherHistoryStartOver(cursor: String) async throws {
        try await TokensFixture.with { tokens in
            try await revoke(UUID(), on: tokens.database.pool)
            let feed = try await tokens.feed()
            let page = try await feed.page(after: cursor, waitingUntil: .now + .seconds(60))
            #expect(page.reset)
        }
    }
}

extension TokensFixture {
    fileprivate func purgeRevocations() async throws {
        _ = try await database.pool.withTransaction {
            try await SweepStore(sessions: store, revocationRetention: 604_800, batch: 10)
                .purgeRevocations(after: .init(), on: $0)
        }
    }
}
