import Contracts
import Foundation
import Postgres
import ServiceKitPostgres
import TestKit
import Testing

@testable import TokensService

@Suite struct RevocationFeedStoreTests {
    /// Reads from a cursor until there are no more entries.
    private func read(
        _ feed: RevocationFeedStore, after cursor: String?
    ) async throws -> (sessions: [UUID], cursor: String) {
        var sessions: [UUID] = []
        var cursor = cursor
        while true {
            let page = try await feed.page(after: cursor, waitingUntil: .now)
            #expect(!page.reset)
            sessions += page.entries.map(\.sessionID)
            cursor = page.cursor
            if !page.more { return (sessions, page.cursor) }
        }
    }

    private func revoke(_ session: UUID, on connection: some PostgresQuerying) async throws {
        try await connection.query(
            """
            INSERT INTO revocations (session_id, user_id, access_expires_at, reason)
            VALUES (\(session), \(UUID()), now() + interval '1 hour', 'logout')
            """)
    }

    @Test func everyEntryIsReadOnce() async throws {
        try await TokensFixture.with { tokens in
            let feed = RevocationFeedStore(database: tokens.database.pool, pageSize: 3)
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
                let found = try await read(RevocationFeedStore(database: pool), after: nil)
                #expect(found.sessions == [session])
            }
        }
    }

    @Test func anEntrySaysHowOldItIs() async throws {
        try await TokensFixture.with { tokens in
            try await tokens.database.pool.query(
                """
                INSERT INTO revocations (session_id, user_id, access_expires_at, reason, revoked_at)
                VALUES (gen_random_uuid(), gen_random_uuid(), now(), 'logout', now() - interval '90.5 seconds'),
                    (gen_random_uuid(), gen_random_uuid(), now(), 'logout', now() + interval '1 hour')
                """)
            let feed = RevocationFeedStore(database: tokens.database.pool)
            let ages = try await feed.page(after: nil, waitingUntil: .now).entries.compactMap(\.age)
            try #require(ages.count == 2)
            #expect(ages[0] >= 90.5 && ages[0] < 3600 && ages[1] == 0)
        }
    }

    /// Pages are in the order of transaction numbers, also where these gain a digit.
    @Test(arguments: 1...4) func noPageSkipsAnEntry(pageSize: Int) async throws {
        try await TokensFixture.with { tokens in
            let transactions = [8, 9, 10, 11, 99, 100, 101, 999, 1000]
            let sessions = transactions.map { _ in UUID() }
            for (transaction, session) in zip(transactions, sessions).shuffled() {
                try await tokens.database.pool.query(
                    """
                    INSERT INTO revocations (session_id, user_id, access_expires_at, reason, transaction_id)
                    VALUES (\(session), \(UUID()), now() + interval '1 hour', 'logout', \(String(transaction))::xid8)
                    """)
            }
            let feed = RevocationFeedStore(database: tokens.database.pool, pageSize: pageSize)
            #expect(try await read(feed, after: nil).sessions == sessions)
        }
    }

    /// The entry with the lower number commits after the higher one was read.
    @Test func whatCommitsLateIsNotSkipped() async throws {
        try await TokensFixture.with { tokens in
            let feed = RevocationFeedStore(database: tokens.database.pool, pageSize: 2)
            let start = try await read(feed, after: nil).cursor
            let late = UUID()
            let early = (0..<5).map { _ in UUID() }
            let connection = try await tokens.database.connect()
            var cursor = start
            try await connection.withTransaction { transaction in
                try await revoke(late, on: transaction)
                for session in early { try await revoke(session, on: tokens.database.pool) }
                let first = try await read(feed, after: start)
                #expect(first.sessions == early)
                cursor = first.cursor
                #expect(try await read(feed, after: cursor).sessions.isEmpty, "an open transaction repeats nothing")
            }
            await connection.close()
            #expect(try await read(feed, after: cursor).sessions == [late])
            let all = try await read(feed, after: nil).sessions
            #expect(Set(all) == Set(early + [late]))
        }
    }

    @Test func writersInAnyOrderLoseNothing() async throws {
        try await TokensFixture.with { tokens in
            let feed = RevocationFeedStore(database: tokens.database.pool, pageSize: 7)
            let sessions = (0..<200).map { _ in UUID() }
            var cursor = try await read(feed, after: nil).cursor
            var cursors: [String] = []
            // An open transaction may make entries arrive twice.
            var found: Set<UUID> = []
            try await withThrowingTaskGroup(of: Void.self) { group in
                for part in 0..<4 {
                    group.addTask {
                        for index in stride(from: part, to: sessions.count, by: 4) {
                            try await tokens.database.pool.withTransaction { transaction in
                                try await revoke(sessions[index], on: transaction)
                                if index.isMultiple(of: 5) { try await transaction.query("SELECT pg_sleep(0.005)") }
                            }
                        }
                    }
                }
                // An entry that was skipped never comes.
                let end = ContinuousClock.now + .seconds(60)
                while found.count < sessions.count, ContinuousClock.now < end {
                    let page = try await feed.page(after: cursor, waitingUntil: min(end, .now + .seconds(10)))
                    found.formUnion(page.entries.map(\.sessionID))
                    cursors.append("\(FeedCursor(text: page.cursor)!) \(page.entries.count)")
                    cursor = page.cursor
                }
                try await group.waitForAll()
            }
            let missing = Set(sessions).subtracting(found)
            let skipped = try await tokens.database.pool.query(
                "SELECT transaction_id::text FROM revocations WHERE session_id = ANY(\(missing.map(\.uuidString))::uuid[])"
            ).decode(String.self)
            #expect(found == Set(sessions), "missing of the transactions \(skipped); the cursors: \(cursors)")
        }
    }

    @Test func aReaderThatWaitsIsAnsweredSoon() async throws {
        try await TokensFixture.with { tokens in
            let feed = RevocationFeedStore(database: tokens.database.pool)
            let cursor = try await read(feed, after: nil).cursor
            let waiting = Task { try await feed.page(after: cursor, waitingUntil: .now + .seconds(60)) }
            let session = UUID()
            try await revoke(session, on: tokens.database.pool)
            let (page, time) = try await SchedulingLag.time { try await waiting.value }
            #expect(page.entries.map(\.sessionID) == [session])
            #expect(time < .seconds(1))
        }
    }

    @Test func aCursorFromBeforeWhatIsKeptStartsOver() async throws {
        try await TokensFixture.with { tokens in
            let feed = RevocationFeedStore(database: tokens.database.pool)
            let before = try await read(feed, after: nil).cursor
            try await revoke(UUID(), on: tokens.database.pool)
            try await tokens.database.pool.query("UPDATE revocations SET revoked_at = now() - interval '8 days'")
            let kept = UUID()
            try await revoke(kept, on: tokens.database.pool)
            try await tokens.purgeRevocations()
            #expect(try await tokens.count("revocations") == 1)

            let page = try await feed.page(after: before, waitingUntil: .now)
            #expect(page.reset)
            #expect(page.entries.isEmpty)
            #expect(try await read(feed, after: page.cursor).sessions == [kept])
        }
    }

    /// While a transaction stays open, a forgotten prepared one for example, it is missing from every later snapshot.
    /// What is purged meanwhile is not of that transaction, so no reader has to start over.
    @Test func aForgottenTransactionStartsNobodyOverForEver() async throws {
        try await TokensFixture.with { tokens in
            let feed = RevocationFeedStore(database: tokens.database.pool)
            let forgotten = try await tokens.database.connect()
            let (held, later) = (UUID(), UUID())
            var cursor = ""
            try await forgotten.withTransaction { transaction in
                try await revoke(held, on: transaction)
                try await revoke(UUID(), on: tokens.database.pool)
                try await tokens.database.pool.query("UPDATE revocations SET revoked_at = now() - interval '8 days'")
                cursor = try await read(feed, after: nil).cursor
                try await tokens.purgeRevocations()
                // Transactions of other tests that were open when the cursor was made may make it start over, rightly.
                try await eventually("the reader goes on") {
                    let page = try await feed.page(after: cursor, waitingUntil: .now)
                    cursor = page.reset ? try await read(feed, after: page.cursor).cursor : page.cursor
                    return !page.reset
                }
                try await revoke(later, on: tokens.database.pool)
                let sessions = try await follow(feed, &cursor)
                #expect(sessions.contains(later) && !sessions.contains(held))
            }
            await forgotten.close()
            #expect(try await follow(feed, &cursor).contains(held))
        }
    }

    /// Reads until there are no more entries, starting over when the feed asks for it.
    private func follow(_ feed: RevocationFeedStore, _ cursor: inout String) async throws -> Set<UUID> {
        var sessions: Set<UUID> = []
        while true {
            let page = try await feed.page(after: cursor, waitingUntil: .now)
            sessions.formUnion(page.entries.map(\.sessionID))
            cursor = page.cursor
            if !page.more { return sessions }
        }
    }

    /// An entry is as old as its transaction. If that commits late, it may be purged before any reader has read it.
    @Test func whatAForgottenTransactionLeavesIsMissedByNobody() async throws {
        try await TokensFixture.with { tokens in
            let feed = RevocationFeedStore(database: tokens.database.pool)
            let forgotten = try await tokens.database.connect()
            var cursor = ""
            try await forgotten.withTransaction { transaction in
                try await revoke(UUID(), on: transaction)
                try await transaction.query("UPDATE revocations SET revoked_at = now() - interval '8 days'")
                cursor = try await read(feed, after: nil).cursor
            }
            await forgotten.close()
            try await tokens.purgeRevocations()
            let page = try await feed.page(after: cursor, waitingUntil: .now)
            #expect(page.reset)
            _ = try await read(feed, after: page.cursor)
        }
    }

    /// A dump brings the horizon of the cluster that it was taken from, whose transactions may have had higher numbers.
    @Test func aRestoredHorizonStartsNobodyOver() async throws {
        try await TokensFixture.with { tokens in
            let feed = RevocationFeedStore(database: tokens.database.pool)
            try await tokens.database.pool.query("UPDATE revocation_horizon SET purged_through = '1000000000000'")
            let start = try await read(feed, after: nil).cursor
            let session = UUID()
            try await revoke(session, on: tokens.database.pool)
            #expect(try await read(feed, after: start).sessions == [session])
            try await tokens.database.pool.query("UPDATE revocations SET revoked_at = now() - interval '8 days'")
            try await tokens.purgeRevocations()
            let page = try await feed.page(after: start, waitingUntil: .now)
            #expect(page.reset, "what is purged here counts from then on")
        }
    }

    @Test(arguments: ["x", "AAAA", "!", "MS0xLzU6NTo"])
    func cursorsOfAnotherMakeStartOver(cursor: String) async throws {
        try await TokensFixture.with { tokens in
            let feed = RevocationFeedStore(database: tokens.database.pool)
            let page = try await feed.page(after: cursor, waitingUntil: .now)
            #expect(page.reset)
        }
    }

    /// After a restore the clock of transactions is behind the cursor.
    @Test func aCursorFromTheFutureStartsOver() async throws {
        try await TokensFixture.with { tokens in
            let feed = RevocationFeedStore(database: tokens.database.pool)
            var cursor = try #require(FeedCursor(text: try await read(feed, after: nil).cursor))
            cursor.seen = "18446744073709551000:18446744073709551000:"
            #expect(try await feed.page(after: cursor.text, waitingUntil: .now).reset)
        }
    }
}

extension TokensFixture {
    fileprivate func purgeRevocations() async throws {
        _ = try await database.pool.withTransaction {
            try await SweepStore(sessions: store, revocationRetention: 604_800, batch: 10).purgeRevocations(on: $0)
        }
    }
}
