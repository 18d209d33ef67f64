import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import DevicesService

@Suite struct ExpiredRegistrationStoreTests {
    let ada = UUID()
    let bob = UUID()
    let unseen = UnseenRules(pauseDays: 60, retentionDays: 270)

    private func register(_ store: TestRegistry, _ user: UUID, token: String = "aa") async throws {
        let registration = try DeviceStoreTests.registration(token: token)
        #expect(try await store.register(registration, user: user, session: .session(of: user)) != nil)
    }

    /// Purges the buckets of both users, or the given ones.
    private func purge(
        _ store: TestRegistry, _ table: ExpiredRegistrationStore.Table, in buckets: Set<Bucket>? = nil
    ) async throws -> Int {
        let expired = ExpiredRegistrationStore(database: store.database, unseen: unseen)
        var count = 0
        for bucket in buckets ?? [Bucket(user: ada), Bucket(user: bob)] {
            count += try await expired.purge(table, in: bucket)
        }
        return count
    }

    @Test func devicesAreErasedAfterTheRetention() async throws {
        try await DeviceStoreTests.withStore { store in
            for (user, days) in [(ada, 269), (bob, 271)] {
                try await register(store, user, token: user == ada ? "aa" : "bb")
                try await store.database.query(
                    """
                    UPDATE devices SET last_seen_at = now() - make_interval(days => \(Int32(days)))
                    WHERE user_id = \(user)
                    """)
            }
            #expect(try await purge(store, .devices) == 1)
            #expect(try await store.devices(of: ada).count == 1)
            #expect(try await store.devices(of: bob).isEmpty)
        }
    }

    @Test func voidRegistrationsAreRemovedAndRecorded() async throws {
        try await DeviceStoreTests.withStore { store in
            try await register(store, ada)
            try await register(store, ada, token: "bb")
            try await store.own(DeviceStoreTests.registration(token: "aa"), by: bob)
            #expect(try await purge(store, .devices) == 1)
            #expect(try await store.tokens() == [PushToken(bytes: [0xBB])])
            #expect(try await store.ownerChanges(of: ada).map(\.newUser) == [bob])
            // Also those without an owner, of which nothing is known.
            try await store.database.query("DELETE FROM push_token_owners")
            #expect(try await purge(store, .devices) == 1)
            #expect(try await store.ownerChanges(of: ada).count == 1)
        }
    }

    @Test func ownersWithoutARegistrationAreForgotten() async throws {
        try await DeviceStoreTests.withStore { store in
            try await register(store, ada)
            try await register(store, bob, token: "bb")
            try await store.database.query("DELETE FROM devices WHERE user_id = \(ada)")
            let parts = try ["aa", "bb"].map { token in
                let hash = store.protection.hash(try DeviceStoreTests.registration(token: token))
                return try #require(Bucket(rawValue: Int16(hash[0]) << 4 | Int16(hash[1]) >> 4))
            }
            #expect(try await purge(store, .owners, in: Set(parts)) == 0, "a registration may be in progress")
            try await store.database.query("UPDATE push_token_owners SET claimed_at = now() - interval '2 hours'")
            #expect(try await purge(store, .owners, in: Set(parts)) == 1)
            #expect(try await store.owners().map(\.user) == [bob])
        }
    }

    /// The first and the last hash of all, and those at the ends of a part.
    @Test func everyHashIsInOnePart() async throws {
        try await DeviceStoreTests.withStore { store in
            let hashes =
                [[0, 0], [0, 0x0F], [0, 0x10], [0x12, 0x3F], [0x12, 0x40], [0xFF, 0xEF], [0xFF, 0xFF]] as [[UInt8]]
            for hash in hashes {
                let hash = hash + [UInt8](repeating: hash[1] == 0xFF ? 0xFF : 0, count: 30)
                try await store.database.query(
                    """
                    INSERT INTO push_token_owners (token_hash, user_id, epoch, claimed_at)
                    VALUES (\(hash), \(ada), 1, now() - interval '2 hours')
                    """)
            }
            let all = Set((0..<Bucket.count).compactMap(Bucket.init(rawValue:)))
            #expect(try await purge(store, .owners, in: all) == hashes.count)
        }
    }

    @Test func eventsAreKeptForTwoYears() async throws {
        try await DeviceStoreTests.withStore { store in
            for user in [ada, bob, ada] { try await register(store, user) }
            try await store.database.query(
                """
                UPDATE security_events SET occurred_at = now() - CASE WHEN user_id = \(ada) THEN interval '731 days'
                    ELSE interval '729 days' END
                """)
            #expect(try await purge(store, .events) == 1)
            #expect(try await store.ownerChanges(of: ada).isEmpty)
            #expect(try await store.ownerChanges(of: bob).count == 1)
        }
    }

    @Test func tagsWithoutARegistrationAreRemovedAfterTheRetention() async throws {
        try await DeviceStoreTests.withStore { store in
            let tags = UserTagStore(database: store.database)
            let space = TagSpace(name: "a")
            try await register(store, ada)
            for user in [ada, bob] { #expect(try await tags.set(["x", "y"], of: user, in: space)) }
            #expect(try await purge(store, .tags) == 0, "the users may register later")
            try await store.database.query("UPDATE user_tags SET written_at = now() - interval '271 days'")
            #expect(try await purge(store, .tags) == 2)
            #expect(try await tags.tags(of: ada, in: space) == ["x", "y"])
            // The retention begins when the registration ends.
            try await store.database.query("DELETE FROM devices")
            #expect(try await purge(store, .tags) == 0)
            try await store.database.query("UPDATE user_tags SET written_at = now() - interval '271 days'")
            // Setting tags again says that the caller still needs them.
            #expect(try await tags.set(["x"], of: ada, in: space))
            #expect(try await purge(store, .tags) == 0)
        }
    }

    @Test func erasedUsersAndCountsOfTokensAreForgotten() async throws {
        try await DeviceStoreTests.withStore { store in
            try await register(store, bob)
            try await store.erase(user: ada)
            for (days, count) in [(759, 0), (761, 1)] {
                try await store.database.query(
                    "UPDATE erased_users SET erased_at = now() - make_interval(days => \(Int32(days)))")
                #expect(try await purge(store, .erased) == count)
            }
            for (days, count) in [(1, 0), (2, 1)] {
                try await store.database.query("UPDATE push_token_days SET day = current_date - \(Int32(days))")
                #expect(try await purge(store, .newTokens) == count)
            }
        }
    }

    @Test func aDeviceIsReachedUntilThePause() {
        let now = Date.now
        for (days, isReached) in [(-1.0, true), (0, true), (59.9, true), (60, false), (269, false)] {
            #expect(unseen.isReached(lastSeenAt: now - days * 86_400, now: now) == isReached)
        }
    }
}
