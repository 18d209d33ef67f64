import CryptoKit
import Dispatch
import Foundation
import Security
import Synchronization
import Testing

@testable import GatehouseClient

@Suite("A session behind Face ID or Touch ID")
struct KeychainBiometryTests {
    let bench = KeychainBench()

    @Test("The next process reads it after the user has authenticated, with one dialog")
    func unlocks() async throws {
        defer { bench.remove() }
        try await bench.store(lock: .biometrics).save(.first)
        #expect(bench.device.prompts.isEmpty)
        #expect(bench.rawValue()?.range(of: .first) == nil)

        let next = bench.store(lock: .biometrics)
        #expect(await code { () throws(TokenStoreError) in try await next.load() } == .userPresenceNeeded)
        #expect(bench.device.prompts.isEmpty)
        try await next.unlock(reason: "Open the shop")
        try await next.unlock(reason: "again")
        #expect(bench.device.prompts == ["Open the shop"])
        #expect(try await next.load() == .first)
    }

    @Test("Renewed in the background and while the device is locked, without a dialog")
    func renewsInBackground() async throws {
        defer { bench.remove() }
        let store = bench.store(lock: .biometrics)
        try await store.save(.first)
        bench.device.lock = .locked
        bench.device.isInBackground = true
        try await store.save(.second)
        #expect(try await store.load() == .second)
        #expect(bench.device.prompts.isEmpty)
        bench.device.lock = .unlocked
        bench.device.isInBackground = false
        let next = bench.store(lock: .biometrics)
        try await next.unlock(reason: "r")
        #expect(try await next.load() == .second)
        // The session and the key to it.
        #expect(bench.items().count == 2)
    }

    @Test(
        "Cancelled, or not recognized: an error for each, and the session waits",
        arguments: [
            (.cancelled, .userPresenceRefused), (.notRecognized, .userPresenceFailed),
        ] as [(SimulatedDevice.Answer, TokenStoreError.Code)])
    func refused(answer: SimulatedDevice.Answer, expected: TokenStoreError.Code) async throws {
        defer { bench.remove() }
        try await bench.store(lock: .biometrics).save(.first)
        bench.device.user(answers: answer)
        let next = bench.store(lock: .biometrics)
        #expect(await code { () throws(TokenStoreError) in try await next.unlock(reason: "r") } == expected)
        #expect(await code { () throws(TokenStoreError) in try await next.load() } == .userPresenceNeeded)
        try await next.unlock(reason: "r")
        #expect(try await next.load() == .first)
    }

    @Test("Locked again: reading requires the user once more")
    func locks() async throws {
        defer { bench.remove() }
        let store = bench.store(lock: .biometrics)
        try await store.save(.first)
        #expect(store.requiresUserPresence && !bench.store().requiresUserPresence)
        #expect(try await store.load() == .first)
        await store.lock()
        #expect(await code { () throws(TokenStoreError) in try await store.load() } == .userPresenceNeeded)
        #expect(bench.device.prompts.isEmpty)
        try await store.unlock(reason: "r")
        #expect(try await store.load() == .first)
        #expect(bench.device.prompts == ["r"])
    }

    @Test("In the background no dialog is shown: the user authenticates later")
    func background() async throws {
        defer { bench.remove() }
        try await bench.store(lock: .biometrics).save(.first)
        bench.device.isInBackground = true
        let next = bench.store(lock: .biometrics)
        #expect(await code { () throws(TokenStoreError) in try await next.unlock(reason: "r") } == .userPresenceNeeded)
    }

    @Test("Another finger is added: the session is lost with an error, and a new sign-in works")
    func enrolmentChanges() async throws {
        defer { bench.remove() }
        try await bench.store(lock: .biometrics).save(.first)
        bench.device.changeBiometrics()
        let next = bench.store(lock: .biometrics)
        #expect(await code { () throws(TokenStoreError) in try await next.load() } == .userPresenceNeeded)
        try await next.unlock(reason: "r")
        #expect(await code { () throws(TokenStoreError) in try await next.load() } == .corrupt)
        try await next.save(.second)
        #expect(try await next.load() == .second)
        let later = bench.store(lock: .biometrics)
        try await later.unlock(reason: "r")
        #expect(try await later.load() == .second)
    }

    @Test("A sign-in replaces a locked session and its key")
    func signInOverLocked() async throws {
        defer { bench.remove() }
        try await bench.store(lock: .biometrics).save(.first)
        let next = bench.store(lock: .biometrics)
        try await next.save(.second)
        #expect(try await next.load() == .second)
        #expect(bench.items().count == 2)
        #expect(bench.device.prompts.isEmpty)
    }

    @Test("The process ends between any two steps of a first save: the old session, or the new one", arguments: 1...2)
    func killed(step: Int) async throws {
        defer { bench.remove() }
        let first = bench.store(lock: .biometrics)
        try await first.save(.first)
        let second = bench.store(lock: .biometrics)
        if step == 1 {
            bench.device.fail("SecItemUpdate", with: errSecNotAvailable)
            #expect(await code { () throws(TokenStoreError) in try await second.save(.second) } == .failed)
        } else {
            bench.device.fail("SecItemDelete", with: errSecNotAvailable)
            try await second.save(.second)
        }
        bench.device.fail("SecItemUpdate", with: nil)
        bench.device.fail("SecItemDelete", with: nil)
        let next = bench.store(lock: .biometrics)
        try await next.unlock(reason: "r")
        #expect(try await next.load() == (step == 1 ? .first : .second))
        // An unused key is deleted with the session.
        try await next.delete()
        #expect(bench.items().isEmpty)
    }

    @Test("Switched on: encrypted at the next launch. Switched off: decrypted after one more authentication")
    func switched() async throws {
        defer { bench.remove() }
        try await bench.store().save(.first)
        let on = bench.store(lock: .biometrics)
        #expect(try await on.load() == .first)
        #expect(bench.rawValue()?.range(of: .first) == nil)

        let off = bench.store()
        #expect(await code { () throws(TokenStoreError) in try await off.load() } == .userPresenceNeeded)
        try await off.unlock(reason: "r")
        #expect(try await off.load() == .first)
        #expect(try await bench.store().load() == .first)
        #expect(bench.items().count == 1)
    }

    @Test("In the app's own group, before an extension shared it: moved with its key, after one authentication")
    func movesToGroup() async throws {
        defer { bench.remove() }
        let appExtension = SimulatedApp(on: bench.device, accessGroups: ["TEAM.extension", KeychainBench.shared])
        try await bench.store(lock: .biometrics).save(.first)
        let moved = bench.store(group: KeychainBench.shared, lock: .biometrics)
        #expect(await code { () throws(TokenStoreError) in try await moved.load() } == .userPresenceNeeded)
        try await moved.unlock(reason: "r")
        #expect(try await moved.load() == .first)
        let items = bench.items()
        #expect(items.count == 2)
        #expect(items.allSatisfy { $0[kSecAttrAccessGroup as String] as? String == KeychainBench.shared })

        let other = bench.store(of: appExtension, group: KeychainBench.shared, lock: .biometrics)
        try await other.unlock(reason: "r")
        #expect(try await other.load() == .first)
        #expect(bench.device.prompts.count == 2)
        // Later refreshes need no other key.
        try await moved.save(.second)
        #expect(try await other.load() == .second)
    }

    @Test("Signing out removes keys in all groups")
    func deletedEverywhere() async throws {
        defer { bench.remove() }
        try await bench.store(lock: .biometrics).save(.first)
        try await bench.store(group: KeychainBench.shared, lock: .biometrics).delete()
        #expect(bench.items().isEmpty)
    }

    @Test("A read that waits for a sign-in knows the key that the sign-in has created")
    func loadBehindSave() async throws {
        defer { bench.remove() }
        try await bench.store(lock: .biometrics).save(.first)
        let next = bench.store(lock: .biometrics)
        // While the new key is added the app comes to the foreground, and reads.
        let reading = Mutex<Task<Data?, any Error>?>(nil)
        let hasAsked = DispatchSemaphore(value: 0)
        bench.device.beforeNext("SecItemAdd") {
            reading.withLock {
                $0 = Task {
                    async let data = next.load()
                    for _ in 0..<100 { await Task.yield() }
                    hasAsked.signal()
                    return try await data
                }
            }
            hasAsked.wait()
        }
        try await next.save(.second)
        let task = try #require(reading.withLock { $0 })
        #expect(try await task.value == .second)
        #expect(bench.device.prompts.isEmpty)
    }

    @Test("Two concurrent unlocks show one dialog")
    func unlockTwice() async throws {
        defer { bench.remove() }
        try await bench.store(lock: .biometrics).save(.first)
        let next = bench.store(lock: .biometrics)
        async let one: Void = next.unlock(reason: "r")
        async let two: Void = next.unlock(reason: "r")
        _ = try await (one, two)
        #expect(bench.device.prompts.count == 1)
        #expect(try await next.load() == .first)
    }

    @Test(
        "A device that cannot authenticate its user keeps the session without a lock, until it can",
        arguments: [UnlockPolicy.biometrics, .biometricsOrPasscode])
    func withoutEnrolment(policy: UnlockPolicy) async throws {
        defer { bench.remove() }
        bench.device.removePasscode()
        let store = bench.store(lock: policy)
        try await store.save(.first)
        #expect(store.unlockPolicy == policy && !store.requiresUserPresence)
        let next = bench.store(lock: policy)
        #expect(try await next.load() == .first)
        #expect(!next.requiresUserPresence && bench.items().count == 1)

        bench.device.setPasscode()
        bench.device.changeBiometrics()
        let later = bench.store(lock: policy)
        #expect(try await later.load() == .first)
        #expect(later.requiresUserPresence && bench.items().count == 2)
        #expect(bench.device.prompts.isEmpty)
    }

    @Test(
        "A removed passcode deletes the key, and the session cannot be read any more",
        arguments: [UnlockPolicy.biometrics, .biometricsOrPasscode])
    func passcodeRemoved(policy: UnlockPolicy) async throws {
        defer { bench.remove() }
        try await bench.store(lock: policy).save(.first)
        bench.device.removePasscode()
        #expect(bench.items().count == 1)
        let next = bench.store(lock: policy)
        try await next.unlock(reason: "r")
        #expect(await code { () throws(TokenStoreError) in try await next.load() } == .corrupt)
        #expect(bench.device.prompts.isEmpty)
    }

    @Test("After a sign-out the key is forgotten, in memory too")
    func signOut() async throws {
        defer { bench.remove() }
        let store = bench.store(lock: .biometrics)
        try await store.save(.first)
        let sealed = try #require(bench.rawValue())
        try await store.delete()
        #expect(bench.items().isEmpty)
        bench.add(sealed)
        #expect(await code { () throws(TokenStoreError) in try await store.load() } == .userPresenceNeeded)
    }

    @Test("A sealed session that was changed is corrupt, and so is a key of another length")
    func tampered() async throws {
        defer { bench.remove() }
        let store = bench.store(lock: .biometrics)
        try await store.save(.first)
        var bytes = try #require(bench.rawValue())
        bytes[bytes.count - 1] ^= 1
        let changed = [kSecValueData as String: bytes]
        #expect(
            bench.call { SecItemUpdate(KeychainBench.item as CFDictionary, changed as CFDictionary) } == errSecSuccess)
        #expect(await code { () throws(TokenStoreError) in try await store.load() } == .corrupt)

        let keys: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "\(KeychainBench.service).session.unlock",
        ]
        let short = [kSecValueData as String: Data([1])]
        #expect(bench.call { SecItemUpdate(keys as CFDictionary, short as CFDictionary) } == errSecSuccess)
        let next = bench.store(lock: .biometrics)
        #expect(await code { () throws(TokenStoreError) in try await next.unlock(reason: "r") } == .corrupt)
    }

    @Test("Nothing to unlock is not an error; a failing Keychain is")
    func nothingToUnlock() async throws {
        defer { bench.remove() }
        let store = bench.store(lock: .biometrics)
        try await store.unlock(reason: "r")
        try await bench.store().save(.first)
        try await store.unlock(reason: "r")
        #expect(bench.device.prompts.isEmpty)
    }

    @Test("The system fails while it searches for the key")
    func keyFails() async throws {
        defer { bench.remove() }
        try await bench.store(lock: .biometrics).save(.first)
        let next = bench.store(lock: .biometrics)
        bench.device.beforeNext("SecItemCopyMatching") { [bench] in
            bench.device.beforeNext("SecItemCopyMatching") {
                bench.device.fail("SecItemCopyMatching", with: errSecNotAvailable)
            }
        }
        #expect(await code { () throws(TokenStoreError) in try await next.unlock(reason: "r") } == .failed)
    }
}
