import Foundation
import GatehouseServiceContracts
import Postgres
import Sealing
import ServiceKitPostgres
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityService

@Suite struct EventFeedStoreTests {
    /// Reads until there is no more.
    private func read(
        _ feed: EventFeedStore, after cursor: String?
    ) async throws -> (events: [AccountEvent], cursor: String) {
        try await feed.sequencer.sequence()
        var events: [AccountEvent] = []
        var cursor = cursor
        while true {
            let page = try await feed.page(after: cursor, waitingUntil: .now)
            #expect(!page.reset)
            events += page.events
            cursor = page.cursor
            if !page.more { return (events, page.cursor) }
        }
    }

    @Test(arguments: [1, 3, 1000]) func everyEventComesOnceAndInOrder(pageSize: Int) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let feed = EventFeedStore(database: pool, pageSize: pageSize, logger: .quiet)
            let user = UUID()
            let session = UUID()
            try await AuditStore.record(.registered, user, by: .user, on: pool)
            try await AuditStore.record(.signInRefused, user, by: .unknown, count: 3, on: pool)
            try await AuditStore.record(.signedIn, user, by: .user, session: session, on: pool)
            let (events, cursor) = try await read(feed, after: nil)
            #expect(events.map(\.type) == [.userCreated, .sessionCreated])
            #expect(events.allSatisfy { $0.userID == user } && events[1].sessionID == session.path)
            #expect(try await read(feed, after: cursor).events == [])
            try await AuditStore.record(.deleted, user, by: .user, on: pool)
            #expect(try await read(feed, after: cursor).events.map(\.type) == [.userDeleted])
            // Again, as often as one likes.
            #expect(try await read(feed, after: nil).events.count == 3)
        }
    }

    @Test func anEntryThatIsCommittedLateIsNotSkipped() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let feed = EventFeedStore(database: pool, logger: .quiet)
            let (late, soon) = (UUID(), UUID())
            let cursor = try await pool.withTransaction { transaction in
                try await AuditStore.record(.registered, late, by: .user, on: transaction)
                try await AuditStore.record(.registered, soon, by: .user, on: pool)
                let (events, cursor) = try await read(feed, after: nil)
                #expect(events.map(\.userID) == [soon])
                return cursor
            }
            #expect(try await read(feed, after: cursor).events.map(\.userID) == [late])
        }
    }

    @Test func whoWantsNothingOfBeforeBeginsAtTheEnd() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let feed = EventFeedStore(database: pool, logger: .quiet)
            try await AuditStore.record(.registered, UUID(), by: .user, on: pool)
            try await feed.sequencer.sequence()
            let start = try await feed.page(after: EventFeedStore.latest, waitingUntil: .now)
            #expect(start.events == [] && !start.more && !start.reset)
            #expect(try await read(feed, after: start.cursor).events == [])
            try await AuditStore.record(.enabled, UUID(), by: .user, on: pool)
            #expect(try await read(feed, after: start.cursor).events.map(\.type) == [.userEnabled])
        }
    }

    @Test func aReaderThatWaitsIsToldAtOnce() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let feed = EventFeedStore(database: pool, logger: .quiet)
            let start = try await feed.page(after: EventFeedStore.latest, waitingUntil: .now)
            let running = Task { await feed.sequencer.run() }
            defer { running.cancel() }
            let waiting = Task { try await feed.page(after: start.cursor, waitingUntil: .now + .seconds(60)) }
            try await AuditStore.record(.enabled, UUID(), by: .user, on: pool)
            #expect(try await waiting.value.events.count == 1)
        }
    }

    /// Retention has removed what the reader has not read.
    @Test func aCursorThatIsTooOldStartsOver() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            let pool = database.pool
            let feed = EventFeedStore(database: pool, logger: .quiet)
            let store = AuditSealStore(database: pool, keys: .sample)
            let before = try await feed.page(after: EventFeedStore.latest, waitingUntil: .now).cursor
            for _ in 0..<2 {
                try await AuditStore.record(.registered, UUID(), by: .user, on: pool)
                try await feed.sequencer.sequence()
                #expect(try await store.seal() != nil)
            }
            let after = try await read(feed, after: before).cursor
            for table in ["audit_entries", "audit_log", "audit_seals"] {
                try await pool.query("ALTER TABLE \(unescaped: table) DISABLE TRIGGER USER")
            }
            #expect(try await store.removeOldest(olderThan: 0))
            #expect(try await feed.page(after: before, waitingUntil: .now).reset)
            #expect(try await feed.page(after: "of another version", waitingUntil: .now).reset)
            #expect(try await !feed.page(after: after, waitingUntil: .now).reset)
        }
    }
}
