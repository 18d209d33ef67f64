import Foundation
import Security
import Testing

@testable import GatehouseClient

@Suite("Sessions in the Keychain of earlier versions and configurations")
struct KeychainFormatTests {
    let bench = KeychainBench()

    private func attribute(_ key: CFString) -> String? { bench.items().first?[key as String] as? String }

    @Test("Without a version, and readable only while the device is unlocked: read and migrated")
    func withoutVersion() async throws {
        defer { bench.remove() }
        bench.add(.first, [kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked])
        bench.device.lock = .locked
        let store = bench.store()
        #expect(await code { () throws(TokenStoreError) in try await store.load() } == .deviceLocked)
        bench.device.lock = .unlocked
        #expect(try await store.load() == .first)
        #expect(attribute(kSecAttrAccessible) == kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String)
        #expect(bench.rawValue()?.starts(with: Data("ghk1p".utf8)) == true)
        bench.device.lock = .locked
        #expect(try await store.load() == .first)
    }

    @Test("In the app's own group, before it was shared with an extension: moved")
    func otherGroup() async throws {
        defer { bench.remove() }
        try await bench.store().save(.first)
        #expect(try await bench.store(group: KeychainBench.shared).load() == .first)
        #expect(bench.items().count == 1)
        #expect(attribute(kSecAttrAccessGroup) == KeychainBench.shared)
    }

    @Test("In iCloud Keychain: removed from it")
    func synchronizable() async throws {
        defer { bench.remove() }
        bench.add(
            .first, [kSecAttrSynchronizable: true, kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock])
        #expect(try await bench.store().load() == .first)
        let items = bench.items()
        #expect(items.count == 1)
        #expect(items.first?[kSecAttrSynchronizable as String] as? Bool == false)
    }

    @Test("Signing out removes it in all groups")
    func deletedEverywhere() async throws {
        defer { bench.remove() }
        bench.add(.first, [kSecAttrSynchronizable: true, kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock])
        bench.add(.first, [kSecAttrAccessGroup: KeychainBench.shared])
        bench.add(.second)
        try await bench.store().delete()
        #expect(bench.items().isEmpty)
    }

    @Test("A session that cannot be migrated now is still read")
    func migrationFails() async throws {
        defer { bench.remove() }
        bench.add(.first, [kSecAttrAccessible: kSecAttrAccessibleWhenUnlocked])
        bench.device.fail("SecItemUpdate", with: errSecNotAvailable)
        #expect(try await bench.store().load() == .first)
    }

    @Test("Items in other groups that cannot be listed do not fail a save")
    func listFails() async throws {
        defer { bench.remove() }
        bench.add(.first, [kSecAttrAccessGroup: KeychainBench.own])
        bench.device.beforeNext("SecItemAdd") { [bench] in
            bench.device.fail("SecItemCopyMatching", with: errSecNotAvailable)
        }
        let store = bench.store(group: KeychainBench.shared)
        try await store.save(.second)
        bench.device.fail("SecItemCopyMatching", with: nil)
        #expect(try await store.load() == .second)
        try await store.delete()
        #expect(bench.items().isEmpty)
    }

    @Test("Of a later version: kept for that version in every case", arguments: ["ghk3p{}", "ghk9", "ghkAs"])
    func laterVersion(text: String) async throws {
        defer { bench.remove() }
        let bytes = Data(text.utf8)
        bench.add(bytes)
        let store = bench.store()
        #expect(await code { () throws(TokenStoreError) in try await store.load() } == .fromLaterVersion)
        #expect(await code { () throws(TokenStoreError) in try await store.save(.first) } == .fromLaterVersion)
        #expect(bench.rawValue() == bytes)
    }

    @Test(
        "Damaged: corrupt, never empty; signing in anew replaces it",
        arguments: [
            Data("ghk".utf8), Data("ghk0p{}".utf8), Data("ghk1".utf8), Data("ghk1x{}".utf8), Data("ghk1sshort".utf8),
        ])
    func unreadable(bytes: Data) async throws {
        defer { bench.remove() }
        bench.add(bytes)
        let store = bench.store()
        #expect(await code { () throws(TokenStoreError) in try await store.load() } == .corrupt)
        #expect(bench.rawValue() == bytes)
        try await store.save(.first)
        #expect(try await store.load() == .first)
    }

    @Test(
        "An envelope can be read from a slice, and round-trips",
        arguments: [(UnlockPolicy.biometrics, "ghk1s"), (.biometricsOrPasscode, "ghk2u")])
    func envelope(policy: UnlockPolicy, head: String) throws {
        let id = UUID()
        let bytes = Data([0, 0]) + KeychainEnvelope.sealed(keyID: id, .first, for: policy).data
        let envelope = try KeychainEnvelope(bytes.dropFirst(2))
        #expect(envelope.keyID == id && envelope.policy == policy)
        #expect(envelope.data.prefix(5) == Data(head.utf8))
        #expect(envelope.data == bytes.dropFirst(2))
        #expect(try KeychainEnvelope(Data()).data == Data("ghk1p".utf8))
    }
}
