import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import DevicesService

@Suite struct RevokedSessionStoreTests {
    static func page(_ sessions: [UUID], cursor: String, expires: Date = .now + 3600) -> RevocationPage {
        RevocationPage(
            entries: sessions.map {
                RevocationPage.Entry(
                    sessionID: $0, userID: UUID(), revokedAt: .now, accessExpiresAt: expires, reason: .logout)
            }, cursor: cursor, reset: false, more: false)
    }

    static func withStores(_ body: (TestRegistry, RevokedSessionStore) async throws -> Void) async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            try await body(TestRegistry(database.pool), RevokedSessionStore(database: database.pool))
        }
    }

    let user = UUID()
    let session: UUID

    init() { session = .session(of: user) }

    @Test func aRevokedSessionsDevicesAreDetached() async throws {
        try await Self.withStores { devices, revocations in
            let other = UUID.session(of: user)
            _ = try await devices.register(DeviceStoreTests.registration(token: "01"), user: user, session: session)
            _ = try await devices.register(DeviceStoreTests.registration(token: "02"), user: user, session: other)
            #expect(try await revocations.position().cursor == nil)
            #expect(try await revocations.apply(Self.page([session, UUID()], cursor: "c1"), after: nil) == 1)
            #expect(try await devices.devices(of: user).map(\.sessionId) == [other])
            #expect(try await revocations.position().cursor == "c1")
        }
    }

    /// A date that PostgreSQL refuses, in one entry of a page, would hold up the feed, and with it all pushes.
    @Test(arguments: [1e13, 9e15, -1e13])
    func anEntryThatEndsAtAnyTimeIsApplied(_ expires: Double) async throws {
        try await Self.withStores { devices, revocations in
            _ = try await devices.register(DeviceStoreTests.registration(token: "01"), user: user, session: session)
            let page = Self.page([session], cursor: "c1", expires: Date(timeIntervalSince1970: expires))
            #expect(try await revocations.apply(page, after: nil) == 1)
            #expect(try await revocations.position().cursor == "c1")
        }
    }

    @Test func devicesAreDetachedWhileRequestsHoldTheirConnections() async throws {
        try await withDatabase(migrations: Migrations.all) { database in
            var limits = PostgresPoolConfiguration.patient
            (limits.maximumConnections, limits.reservedConnections) = (2, 1)
            let pool = PostgresPool(configuration: try .patient(database.url), pool: limits)
            defer { pool.close() }
            let devices = TestRegistry(pool)
            let revocations = RevokedSessionStore(database: pool)
            _ = try await devices.register(DeviceStoreTests.registration(), user: user, session: session)
            try await pool.withConnection { _ in
                let position = try await revocations.position()
                #expect(try await revocations.apply(Self.page([session], cursor: "c1"), after: position.cursor) == 1)
                #expect(try await revocations.purge(batch: 10) == 0)
            }
        }
    }

    @Test func aRevokedSessionRegistersNothingAndChangesNothing() async throws {
        try await Self.withStores { devices, revocations in
            let bob = UUID()
            _ = try await devices.register(
                DeviceStoreTests.registration(installation: "phone"), user: user, session: .session(of: user))
            _ = try await devices.register(
                DeviceStoreTests.registration(token: "02"), user: bob, session: .session(of: bob))
            _ = try await revocations.apply(Self.page([session], cursor: "c1"), after: nil)
            for token in ["03", "02", "aabb"] {
                let registration = try DeviceStoreTests.registration(token: token, installation: "phone", model: "x")
                #expect(try await devices.register(registration, user: user, session: session) == nil)
            }
            #expect(try await devices.devices(of: user).map(\.model) == [nil])
            #expect(try await devices.devices(of: bob).count == 1)
        }
    }

    /// After a reset, sessions are checked in their order, once by all replicas together.
    @Test func aResetChecksEveryRegisteredSession() async throws {
        try await Self.withStores { devices, revocations in
            let sessions = (0..<5).map { _ in UUID.session(of: user) }.sorted { $0.uuidString < $1.uuidString }
            for (index, session) in sessions.enumerated() {
                for device in 0..<2 {
                    _ = try await devices.register(
                        DeviceStoreTests.registration(token: "0\(index)\(device)a"), user: user, session: session)
                }
            }
            var page = Self.page([], cursor: "oldest")
            (page.reset, page.more) = (true, true)
            _ = try await revocations.apply(page, after: nil)
            let start = try #require(try await revocations.position().checkedThrough)
            #expect(try await revocations.registeredSessions(after: start, limit: 3) == Array(sessions[..<3]))
            let ended = [sessions[0], sessions[2]]
            #expect(try await revocations.detach(ended, checkedFrom: start, through: sessions[2]) == 4)
            #expect(try await revocations.detach([sessions[1]], checkedFrom: start, through: nil) == nil, "done")
            #expect(try await revocations.position().checkedThrough == sessions[2])
            #expect(try await revocations.registeredSessions(after: sessions[2], limit: 3) == Array(sessions[3...]))
            #expect(try await revocations.detach([], checkedFrom: sessions[2], through: nil) == 0)
            #expect(try await revocations.position().checkedThrough == nil)
            let registration = try DeviceStoreTests.registration(token: "ff")
            #expect(try await devices.register(registration, user: user, session: sessions[0]) == nil, "it is barred")
        }
    }

    @Test func theFeedsEndIsNotedWithTheCursor() async throws {
        try await Self.withStores { _, revocations in
            var page = Self.page([session], cursor: "c1")
            page.more = true
            _ = try await revocations.apply(page, after: nil)
            #expect(try await revocations.position() == .init(cursor: "c1", readAt: nil))
            _ = try await revocations.apply(Self.page([], cursor: "c2"), after: "c1")
            #expect(try await !revocations.position().isStale(at: .now))
            _ = try await revocations.apply(page, after: "c2")
            #expect(try await revocations.position().readAt != nil)
        }
    }

    /// The second replica's work is done by the first: what is barred already is not written again.
    @Test func aSessionThatIsBarredIsNotWrittenAgain() async throws {
        try await Self.withStores { devices, revocations in
            let page = Self.page([session], cursor: "c1")
            _ = try await revocations.apply(page, after: nil)
            try await devices.database.query(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'written'; END $$
                """)
            try await devices.database.query(
                """
                CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON revoked_sessions FOR EACH STATEMENT
                EXECUTE FUNCTION refuse()
                """)
            #expect(try await revocations.apply(page, after: "c1") == 0)
            // One that lives longer is.
            let longer = Self.page([session], cursor: "c2", expires: .now + 7200)
            await #expect(throws: PostgresError.self) { try await revocations.apply(longer, after: "c1") }
        }
    }

    @Test func pagesMayBeRepeated() async throws {
        try await Self.withStores { _, revocations in
            let page = Self.page([session, session], cursor: "c1")
            let first = try await revocations.apply(page, after: nil)
            let second = try await revocations.apply(page, after: "c1")
            let empty = try await revocations.apply(Self.page([], cursor: "c2"), after: "c1")
            #expect([first, second, empty] == [0, 0, 0])
            #expect(try await revocations.position().cursor == "c2")
        }
    }

    @Test func aPageAskedForElsewhereIsNotApplied() async throws {
        try await Self.withStores { devices, revocations in
            _ = try await devices.register(DeviceStoreTests.registration(), user: user, session: session)
            _ = try await revocations.apply(Self.page([], cursor: "c5"), after: nil)
            #expect(try await revocations.apply(Self.page([session], cursor: "c1"), after: nil) == nil)
            #expect(try await revocations.position().cursor == "c5")
            #expect(try await devices.devices(of: user).count == 1)
        }
    }

    @Test func aLargePageIsAppliedWhole() async throws {
        try await Self.withStores { devices, revocations in
            // Of many users, so that a page has many buckets.
            let sessions = (0..<450).map { UUID.session(of: [0, 200, 449].contains($0) ? user : UUID()) }
            for (index, session) in [sessions[0], sessions[200], sessions[449]].enumerated() {
                _ = try await devices.register(
                    DeviceStoreTests.registration(token: "0\(index)"), user: user, session: session)
            }
            #expect(try await revocations.apply(Self.page(sessions, cursor: "c1"), after: nil) == 3)
            let count = try await devices.database.query("SELECT count(*) FROM revoked_sessions").decode(Int64.self)
            #expect(count == [450])
        }
    }

    @Test func sessionsAreForgottenWhenTheirAccessTokensAreLongGone() async throws {
        try await Self.withStores { devices, revocations in
            _ = try await revocations.apply(Self.page([session], cursor: "c1", expires: .now - 600), after: nil)
            _ = try await revocations.apply(Self.page([UUID()], cursor: "c2"), after: "c1")
            #expect(try await revocations.purge(batch: 10) == 1)
            let kept = try await devices.database.query("SELECT session_id FROM revoked_sessions").decode(UUID.self)
            #expect(kept.count == 1)
            #expect(kept != [session])
        }
    }

    /// Registrations while their session is revoked leave no row, in whatever order both arrive.
    @Test func noRegistrationOutrunsARevocation() async throws {
        try await Self.withStores { devices, revocations in
            var cursor: String?
            for round in 0..<20 {
                let user = UUID()
                let session = UUID.session(of: user)
                let after = cursor
                let next = "c\(round)"
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<6 {
                        group.addTask {
                            _ = try await devices.register(
                                DeviceStoreTests.registration(token: "0\(number)"), user: user, session: session)
                        }
                    }
                    group.addTask { _ = try await revocations.apply(Self.page([session], cursor: next), after: after) }
                    try await group.waitForAll()
                }
                cursor = next
                #expect(try await devices.devices(of: user).isEmpty)
            }
        }
    }

    /// The worst case, forced: the registration's statement has its snapshot already when the revocation commits.
    @Test func aRegistrationThatBeganBeforeTheRevocationIsRefused() async throws {
        try await Self.withStores { devices, _ in
            try await devices.database.withConnection { blocker in
                try await blocker.query("SELECT pg_advisory_lock(uuid_hash_extended(\(session), 0))")
                async let registration = devices.register(DeviceStoreTests.registration(), user: user, session: session)
                try await eventually("the registration waits for the lock") {
                    let waiting = try await devices.database.query(
                        """
                        SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
                        WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted
                        """
                    ).decode(Int64.self)
                    return waiting == [1]
                }
                // As `apply` does, on the connection that has the lock already.
                try await blocker.query(
                    """
                    INSERT INTO revoked_sessions (bucket, session_id, expires_at)
                    VALUES (\(Bucket(session: session).rawValue), \(session), \(Date.now + 3600))
                    """)
                try await blocker.query("SELECT pg_advisory_unlock(uuid_hash_extended(\(session), 0))")
                #expect(try await registration == nil)
            }
        }
    }
}
