import Foundation
import Security
import Testing

@testable import GatehouseClient

@Suite("The session in the Keychain")
struct KeychainTokenStoreTests {
    let bench = KeychainBench()

    @Test("A saved session can be read in the next process, and is gone after deletion")
    func keeps() async throws {
        defer { bench.remove() }
        let store = bench.store()
        #expect(try await store.load() == nil)
        try await store.save(.first)
        try await store.save(.second)
        #expect(try await store.load() == .second)
        #expect(try await bench.store().load() == .second)
        try await store.delete()
        try await store.delete()
        #expect(try await bench.store().load() == nil)
    }

    @Test("One item, readable after the first unlock, on this device only, not in iCloud")
    func attributes() async throws {
        defer { bench.remove() }
        try await bench.store().save(.first)
        let items = bench.items()
        #expect(items.count == 1)
        #expect(
            items[0][kSecAttrAccessible as String] as? String
                == kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly as String)
        #expect(items[0][kSecAttrSynchronizable as String] as? Bool == false)
        #expect(items[0][kSecAttrAccessGroup as String] as? String == KeychainBench.own)
    }

    @Test("A device that has not been unlocked has a session that cannot be read yet, not none")
    func locked() async throws {
        defer { bench.remove() }
        let store = bench.store()
        try await store.save(.first)
        bench.device.lock = .beforeFirstUnlock
        let next = bench.store()
        #expect(await code { () throws(TokenStoreError) in try await next.load() } == .deviceLocked)
        #expect(await code { () throws(TokenStoreError) in try await next.save(.second) } == .deviceLocked)
        #expect(await code { () throws(TokenStoreError) in try await next.delete() } == .deviceLocked)
        #expect(await code { () throws(TokenStoreError) in try await next.unlock(reason: "") } == .deviceLocked)
        bench.device.lock = .locked
        #expect(try await next.load() == .first)
        bench.device.lock = .unlocked
        try await next.save(.second)
        #expect(try await store.load() == .second)
    }

    @Test("Another app's session is neither seen nor touched")
    func anotherApp() async throws {
        defer { bench.remove() }
        let other = SimulatedApp(on: bench.device, accessGroups: ["TEAM.com.example.other"])
        try await bench.store(of: other).save(.first)
        let store = bench.store()
        #expect(try await store.load() == nil)
        try await store.save(.second)
        try await store.delete()
        #expect(try await bench.store(of: other).load() == .first)
    }

    @Test("An app and its extension share a group; a group that the app is not entitled to is an error")
    func sharing() async throws {
        defer { bench.remove() }
        let appExtension = SimulatedApp(on: bench.device, accessGroups: ["TEAM.extension", KeychainBench.shared])
        try await bench.store(group: KeychainBench.shared).save(.first)
        #expect(try await bench.store(of: appExtension, group: KeychainBench.shared).load() == .first)
        #expect(
            await code { () throws(TokenStoreError) in
                try await bench.store(group: "OTHERTEAM.shared").load()
            } == .failed)
    }

    @Test("Another process adds the item between SecItemUpdate and SecItemAdd")
    func updateRacesAdd() async throws {
        defer { bench.remove() }
        bench.device.beforeNext("SecItemAdd") { [bench] in bench.add(.first) }
        try await bench.store().save(.second)
        #expect(try await bench.store().load() == .second)
        #expect(bench.items().count == 1)
    }

    @Test("Another process deletes the item while it is being replaced")
    func deleteRacesUpdate() async throws {
        defer { bench.remove() }
        let store = bench.store()
        try await store.save(.first)
        bench.device.beforeNext("SecItemUpdate") { [bench] in
            _ = bench.call { SecItemDelete(KeychainBench.item as CFDictionary) }
        }
        try await store.save(.second)
        #expect(try await bench.store().load() == .second)
    }

    @Test("A save that always loses the race reports an error")
    func endlessRace() async throws {
        defer { bench.remove() }
        bench.device.fail("SecItemUpdate", with: errSecItemNotFound)
        bench.device.fail("SecItemAdd", with: errSecDuplicateItem)
        #expect(await code { () throws(TokenStoreError) in try await bench.store().save(.first) } == .failed)
    }

    @Test("Four processes save at once: one item, and one of their sessions whole")
    func atOnce() async throws {
        defer { bench.remove() }
        let stores = (0..<4).map { _ in bench.store() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, store) in stores.enumerated() {
                group.addTask {
                    for turn in 0..<25 { try await store.save(Data("\(number) \(turn)".utf8)) }
                }
            }
            try await group.waitForAll()
        }
        let last = try #require(try await stores[0].load())
        #expect(String(decoding: last, as: UTF8.self).hasSuffix(" 24"))
        #expect(bench.items().count == 1)
    }

    @Test(
        "The error contains the system's status",
        arguments: [
            ("SecItemCopyMatching", errSecNotAvailable, TokenStoreError.Code.failed),
            ("SecItemCopyMatching", errSecDecode, .corrupt),
            ("SecItemCopyMatching", errSecInteractionNotAllowed, .deviceLocked),
        ])
    func loadFails(call: String, status: OSStatus, code expected: TokenStoreError.Code) async throws {
        defer { bench.remove() }
        let store = bench.store()
        try await store.save(.first)
        bench.device.fail(call, with: status)
        do {
            _ = try await store.load()
            Issue.record("no error")
        } catch {
            #expect(error.code == expected && error.reason.contains("\(status)"))
        }
        bench.device.fail(call, with: nil)
        #expect(try await store.load() == .first)
    }

    @Test(
        "A session that could not be saved is an error, and the old one is still there",
        arguments: [
            "SecItemUpdate", "SecItemAdd",
        ])
    func saveFails(call: String) async throws {
        defer { bench.remove() }
        let store = bench.store()
        if call == "SecItemUpdate" { try await store.save(.first) }
        bench.device.fail(call, with: errSecNotAvailable)
        #expect(await code { () throws(TokenStoreError) in try await store.save(.second) } == .failed)
        #expect(try await store.load() == (call == "SecItemUpdate" ? .first : nil))
    }

    @Test("A session that could not be deleted is an error")
    func deleteFails() async throws {
        defer { bench.remove() }
        let store = bench.store()
        try await store.save(.first)
        bench.device.fail("SecItemDelete", with: errSecNotAvailable)
        #expect(await code { () throws(TokenStoreError) in try await store.delete() } == .failed)
    }

    @Test("On a Mac the store uses the data protection Keychain and ignores the file-based one")
    func mac() async throws {
        let bench = KeychainBench(isMac: true)
        defer { bench.remove() }
        var attributes = KeychainBench.item
        attributes[kSecUseDataProtectionKeychain as String] = nil
        attributes[kSecValueData as String] = Data.first
        #expect(bench.call { SecItemAdd(attributes as CFDictionary, nil) } == errSecSuccess)
        let store = bench.store()
        #expect(try await store.load() == nil)
        try await store.save(.second)
        #expect(try await store.load() == .second)
        #expect(bench.items().count == 1)
    }

    @Test("Without a Keychain the store reports an error, not an empty store")
    func noKeychain() async throws {
        let store = KeychainTokenStore(.init(service: KeychainBench.service, scope: .app(container: bench.container)))
        defer { bench.remove() }
        #expect(await code { () throws(TokenStoreError) in try await store.load() } == .failed)
    }

    @Test("Printing a store does not reveal its session")
    func printsNothing() async throws {
        defer { bench.remove() }
        let store = bench.store(lock: .biometrics)
        try await store.save(.first)
        var text = ""
        dump(store, to: &text)
        #expect(!text.contains("first") && !text.contains("SymmetricKey("))
    }

    @Test("By default the item is named after the app")
    func defaults() {
        let options = KeychainTokenStore.Options()
        #expect(options.service.hasSuffix(".gatehouse") && options.service.count > ".gatehouse".count)
        #expect(options.account == "session" && options.accessGroup == nil && options.unlockPolicy == .notRequired)
        #expect(options.afterReinstall == .discard)
    }
}
