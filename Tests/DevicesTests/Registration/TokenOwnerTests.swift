import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import DevicesService

/// A push token has one owner, whatever fails between the steps of a registration.
@Suite struct TokenOwnerTests {
    let ada = UUID()
    let bob = UUID()

    private func register(
        _ store: TestRegistry, _ user: UUID, token: String = "aabb", model: String? = nil
    ) async throws -> Device? {
        try await store.register(
            DeviceStoreTests.registration(token: token, model: model), user: user, session: Self.session(user))
    }

    /// Always the same one of a user.
    private static func session(_ user: UUID) -> UUID {
        var id = user.uuid
        let prefix = UUID.session(of: user).uuid
        (id.0, id.1) = (prefix.0, prefix.1 & 0xF0)
        return UUID(uuid: id)
    }

    @Test func theDatabaseAgreesOnBuckets() async throws {
        try await DeviceStoreTests.withStore { store in
            for user in (0..<50).map({ _ in UUID() }) {
                let bucket = try await store.database.query("SELECT bucket_of(\(user))").decode(Int16.self)
                #expect(bucket == [Bucket(user: user).rawValue])
            }
        }
    }

    @Test func aSessionOfAnotherUserIsRefusedAndChangesNothing() async throws {
        try await DeviceStoreTests.withStore { store in
            _ = try await register(store, bob)
            let other = UUID.session(
                of: try #require(
                    (0..<100).lazy.map { _ in UUID() }.first { each in
                        Bucket(user: each) != Bucket(user: ada)
                    }))
            #expect(
                try await store.register(DeviceStoreTests.registration(), user: ada, session: other) == nil)
            #expect(try await store.devices(of: bob).count == 1)
            #expect(try await store.owners().map(\.user) == [bob])
        }
    }

    @Test func theSameOwnerKeepsTheEpochAndAnotherOneRaisesIt() async throws {
        try await DeviceStoreTests.withStore { store in
            _ = try await register(store, ada)
            let first = try await store.owners()
            _ = try await register(store, ada, model: "new")
            #expect(try await store.owners() == first)
            var epoch = first[0].epoch
            for user in [bob, ada] {
                _ = try await register(store, user)
                let owner = try #require(try await store.owners().first)
                #expect(owner.user == user && owner.epoch > epoch)
                epoch = owner.epoch
            }
            #expect(try await store.tokens().count == 1)
        }
    }

    @Test func changesOfTheOwnerAreRecorded() async throws {
        try await DeviceStoreTests.withStore { store in
            for user in [ada, ada, bob, ada] { _ = try await register(store, user) }
            #expect(try await store.ownerChanges(of: ada).map(\.newUser) == [bob])
            let change = try #require(try await store.ownerChanges(of: bob).first)
            #expect(change.newUser == ada)
            #expect(change.token == store.protection.hash(try DeviceStoreTests.registration()).prefix(8))
            // A former owner without a registration too.
            try await store.database.query("DELETE FROM devices")
            _ = try await register(store, UUID())
            #expect(try await store.ownerChanges(of: ada).count == 2)
        }
    }

    @Test func equalChangesAreOneEventWithTheTimeOfTheLast() async throws {
        try await DeviceStoreTests.withStore { store in
            for _ in 0..<5 { for user in [ada, bob] { _ = try await register(store, user) } }
            #expect(try await store.count("security_events") == 2)
            let first = try #require(try await store.ownerChanges(of: bob).first)
            for user in [ada, bob] { _ = try await register(store, user) }
            let last = try await store.ownerChanges(of: bob)
            #expect(last.map(\.newUser) == [ada] && last[0].at > first.at)
            // Another token is another event.
            for user in [ada, bob] { _ = try await register(store, user, token: "cc") }
            #expect(try await store.ownerChanges(of: ada).count == 2)
        }
    }

    // MARK: - Invented tokens

    @Test func aDisplacedRegistrationLeavesNoOwner() async throws {
        try await DeviceStoreTests.withStore { store in
            for number in 0..<RegistrationStore.maximumDevices + 20 {
                _ = try await register(store, ada, token: String(format: "%04x", number))
            }
            #expect(try await store.count("devices") == RegistrationStore.maximumDevices)
            #expect(try await store.count("push_token_owners") == RegistrationStore.maximumDevices)
            #expect(try await store.devices(of: ada).count == RegistrationStore.maximumDevices)
            let device = try #require(try await store.devices(of: ada).first?.id)
            #expect(try await store.remove(device, of: ada))
            #expect(try await store.count("push_token_owners") == RegistrationStore.maximumDevices - 1)
        }
    }

    @Test func anInstallationsFormerTokenLeavesNoOwner() async throws {
        try await DeviceStoreTests.withStore { store in
            for token in ["aa", "bb"] {
                _ = try await store.register(
                    DeviceStoreTests.registration(token: token, installation: "i"), user: ada,
                    session: Self.session(ada))
            }
            #expect(try await store.count("push_token_owners") == 1)
            #expect(try await store.devices(of: ada).count == 1)
        }
    }

    /// An outcome of a push to an earlier registration must not change a later one.
    @Test func anEpochNeverReturns() async throws {
        try await DeviceStoreTests.withStore { store in
            var epochs: [Int64] = []
            for _ in 0..<3 {
                for user in [ada, bob] {
                    let device = try #require(try await register(store, user))
                    epochs.append(try #require(try await store.owners().first).epoch)
                    #expect(try await store.remove(device.id, of: user))
                    #expect(try await store.owners().isEmpty)
                }
            }
            #expect(epochs == Set(epochs).sorted())
        }
    }

    @Test func aUserRegistersSoManyNewTokensInADay() async throws {
        try await DeviceStoreTests.withStore { store in
            for token in ["aa", "aa"] { _ = try await register(store, ada, token: token, model: token) }
            try await store.database.query(
                "UPDATE push_token_days SET tokens = tokens + \(Int32(RegistrationStore.maximumNewTokens)) - 2")
            #expect(try await register(store, ada, token: "bb") != nil)
            await #expect(throws: TooManyNewTokens.self) { try await register(store, ada, token: "cc") }
            #expect(try await store.count("push_token_owners") == 2, "nothing was written")
            // A token that the user has is free, and another user has an allowance of their own.
            #expect(try await register(store, ada, token: "aa", model: "new") != nil)
            #expect(try await register(store, bob, token: "cc") != nil)
            try await store.database.query("UPDATE push_token_days SET day = day - 1")
            #expect(try await register(store, ada, token: "dd") != nil)
        }
    }

    // MARK: - Failures between the steps

    @Test func aTokenThatWasTakenAndNotRegisteredReachesNobody() async throws {
        try await DeviceStoreTests.withStore { store in
            let registration = try DeviceStoreTests.registration()
            _ = try await register(store, ada)
            try await store.own(registration, by: bob)
            #expect(try await store.devices(of: ada).isEmpty)
            #expect(try await store.devices(of: bob).isEmpty)
            // Bob's retry completes it.
            _ = try await register(store, bob)
            #expect(try await store.devices(of: bob).count == 1)
            #expect(try await store.devices(of: ada).isEmpty)
        }
    }

    /// The former owner's row says that nothing has changed, and is void.
    @Test func theFormerOwnerTakesTheTokenBack() async throws {
        try await DeviceStoreTests.withStore { store in
            let first = try #require(try await register(store, ada))
            try await store.own(DeviceStoreTests.registration(), by: bob)
            let again = try #require(try await register(store, ada))
            #expect(try await store.devices(of: ada).map(\.id) == [again.id])
            #expect(again.id == first.id)
            #expect(try await store.ownerChanges(of: bob).map(\.newUser) == [ada])
        }
    }

    @Test func aRowOfAnEarlierEpochIsNotTakenForTheOwners() async throws {
        try await DeviceStoreTests.withStore { store in
            _ = try await register(store, ada)
            for user in [bob, ada] { try await store.own(DeviceStoreTests.registration(), by: user) }
            #expect(try await store.devices(of: ada).isEmpty)
            _ = try await register(store, ada)
            #expect(try await store.devices(of: ada).count == 1)
        }
    }

    /// The third step of an earlier registration comes late.
    @Test func aRenewedRegistrationIsNotRemovedAsVoid() async throws {
        try await DeviceStoreTests.withStore { store in
            _ = try await register(store, ada)
            let former = try await store.owners()[0]
            for user in [bob, ada] { _ = try await register(store, user) }
            let hash = store.protection.hash(try DeviceStoreTests.registration())
            try await store.database.query(
                """
                SELECT remove_void_device(
                    bucket_of(\(ada)), \(ada), \(hash), \(former.epoch), \(bob), \(former.epoch + 1))
                """)
            #expect(try await store.devices(of: ada).count == 1)
            #expect(try await store.ownerChanges(of: ada).count == 1, "it was recorded already")
        }
    }

    @Test func aTokenThatWasForgottenBeginsAtAHigherEpoch() async throws {
        try await DeviceStoreTests.withStore { store in
            _ = try await register(store, ada)
            _ = try await register(store, bob)
            let former = try await store.owners()[0].epoch
            try await store.database.query("DELETE FROM push_token_owners")
            #expect(try await store.devices(of: bob).isEmpty)
            _ = try await register(store, bob)
            #expect(try await store.owners()[0].epoch > former)
            #expect(try await store.devices(of: bob).count == 1)
        }
    }

    @Test func manyTakeOneTokenFromEachOther() async throws {
        try await DeviceStoreTests.withStore { store in
            let users = (0..<4).map { _ in UUID() }
            let tokens = ["aa", "bb", "cc"]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for attempt in 0..<120 {
                    group.addTask {
                        _ = try await register(store, users[attempt % 4], token: tokens[attempt % 3])
                    }
                }
                try await group.waitForAll()
            }
            var visible = 0
            for user in users { visible += try await store.devices(of: user).count }
            #expect(visible == tokens.count)
            #expect(try await store.count("devices") == tokens.count, "no void row is left")
            #expect(try await store.count("push_token_owners") == tokens.count)
        }
    }

    // MARK: - Erasing

    @Test func anErasedUserOwnsNothing() async throws {
        try await DeviceStoreTests.withStore { store in
            for (user, token) in [(ada, "aa"), (ada, "bb"), (bob, "cc")] {
                _ = try await register(store, user, token: token)
            }
            try await store.erase(user: ada)
            #expect(try await store.owners().map(\.user) == [bob])
            #expect(try await store.count("devices") == 1)
        }
    }
}
