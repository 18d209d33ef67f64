import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import DevicesService

@Suite struct PushTokenProtectionTests {
    let protection = TestRegistry.protection

    @Test func aTokenOpensForItsRegistrationOnly() throws {
        let registration = try DeviceStoreTests.registration(token: "deadbeefdeadbeef")
        let other = try DeviceStoreTests.registration(token: "deadbeefdeadbeef", kind: .voip)
        let hash = protection.hash(registration)
        let sealed = try protection.seal(registration.token, hash: hash)
        #expect(protection.open(sealed, hash: hash) == registration.token)
        #expect(protection.open(sealed, hash: protection.hash(other)) == nil)
        #expect(sealed.range(of: Data(registration.token.bytes)) == nil)
        #expect(try protection.seal(registration.token, hash: hash) != sealed)
    }

    @Test func everyFieldOfTheHashCounts() throws {
        let registrations = try [
            DeviceStoreTests.registration(), DeviceStoreTests.registration(token: "aabb00"),
            DeviceStoreTests.registration(environment: .production), DeviceStoreTests.registration(bundle: "other"),
            DeviceStoreTests.registration(kind: .voip), DeviceStoreTests.registration(kind: .liveactivity),
        ]
        #expect(Set(registrations.map(protection.hash)).count == registrations.count)
        // Nothing else does.
        let same = try DeviceStoreTests.registration(token: "AABB", installation: "phone", model: "new")
        #expect(protection.hash(same) == protection.hash(registrations[0]))
    }

    /// Bytes that move from one field to the next make another hash.
    @Test func theEncodingIsUnambiguous() throws {
        let hashes = try [("61", "bc"), ("6162", "c"), ("616263", "a")].map { token, bundle in
            protection.hash(try DeviceStoreTests.registration(token: token, bundle: bundle))
        }
        #expect(Set(hashes).count == 3)
    }

    /// Every owner is found by it: a change of the encoding would make all devices strangers.
    @Test func theHashIsThatOfEarlierVersions() throws {
        let hash = protection.hash(try DeviceStoreTests.registration()).map { String(format: "%02x", $0) }.joined()
        #expect(hash == "3bdcd3135df8a7465d88837e7948ff730856c4090273e5b79fae8fde2c18f76c")
    }

    @Test func sealingKeysAreReplacedUnderTheSameHash() throws {
        let registration = try DeviceStoreTests.registration()
        let next = PushTokenProtection(hashKey: TestRegistry.keys("hash"), sealingKeys: TestRegistry.keys("2", "1"))
        let last = PushTokenProtection(hashKey: TestRegistry.keys("hash"), sealingKeys: TestRegistry.keys("2"))
        let hash = protection.hash(registration)
        #expect(next.hash(registration) == hash)
        let sealed = try protection.seal(registration.token, hash: hash)
        #expect(next.open(sealed, hash: hash) == registration.token)
        #expect(last.open(sealed, hash: hash) == nil)
        #expect(last.open(try next.seal(registration.token, hash: hash), hash: hash) == registration.token)
        let stranger = PushTokenProtection(hashKey: TestRegistry.keys("1"), sealingKeys: TestRegistry.keys("1"))
        #expect(stranger.hash(registration) != hash)
    }

    /// At the next launch of the app, also where nothing else has changed.
    @Test func aRegistrationIsSealedUnderTheNewKey() async throws {
        try await DeviceStoreTests.withStore { store in
            let user = UUID()
            let session = UUID.session(of: user)
            let registration = try DeviceStoreTests.registration()
            _ = try await store.register(registration, user: user, session: session)
            let next = TestRegistry(
                store.database,
                protection: PushTokenProtection(
                    hashKey: TestRegistry.keys("hash"), sealingKeys: TestRegistry.keys("2", "1")))
            _ = try await next.register(registration, user: user, session: session)
            #expect(try await store.tokens().isEmpty)
            #expect(try await next.tokens() == [registration.token])
        }
    }
}
