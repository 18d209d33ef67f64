import Foundation
import Security
import Testing

@testable import GatehouseClient

@Suite("The choice of how a session is unlocked")
struct KeychainUnlockPolicyTests {
    let bench = KeychainBench()

    private func change(_ store: KeychainTokenStore, to policy: UnlockPolicy) async throws(TokenStoreError) {
        try await store.authenticate(toSet: policy, reason: "change")
        try await store.setUnlockPolicy(policy)
    }

    @Test("With the passcode as a fallback, another finger changes nothing")
    func passcode() async throws {
        defer { bench.remove() }
        bench.device.removeBiometrics()
        try await bench.store(lock: .biometricsOrPasscode).save(.first)
        bench.device.changeBiometrics()
        let next = bench.store(lock: .biometricsOrPasscode)
        #expect(await code { () throws(TokenStoreError) in try await next.load() } == .userPresenceNeeded)
        #expect(next.requiresUserPresence)
        try await next.unlock(reason: "r")
        #expect(try await next.load() == .first)
        #expect(bench.device.prompts == ["r"])
    }

    @Test("An update of the app that allows the passcode: the next session key accepts it")
    func updated() async throws {
        defer { bench.remove() }
        try await bench.store(lock: .biometrics).save(.first)
        let updated = bench.store(lock: .biometricsOrPasscode)
        try await updated.unlock(reason: "r")
        #expect(try await updated.load() == .first)
        bench.device.changeBiometrics()
        let next = bench.store(lock: .biometricsOrPasscode)
        try await next.unlock(reason: "r")
        #expect(try await next.load() == .first)
        #expect(bench.items().count == 2)
    }

    @Test("Switched on and off while the app runs, after one dialog each, and kept for later processes")
    func switches() async throws {
        defer { bench.remove() }
        let store = bench.store()
        try await store.save(.first)
        try await change(store, to: .biometricsOrPasscode)
        #expect(store.unlockPolicy == .biometricsOrPasscode && store.requiresUserPresence)
        #expect(bench.rawValue()?.range(of: .first) == nil && bench.items().count == 2)
        #expect(try await store.load() == .first)

        let next = bench.store()
        #expect(next.unlockPolicy == .biometricsOrPasscode)
        #expect(await code { () throws(TokenStoreError) in try await next.load() } == .userPresenceNeeded)
        try await next.unlock(reason: "r")
        try await change(next, to: .notRequired)
        #expect(try await bench.store().load() == .first)
        #expect(bench.store(lock: .biometrics).unlockPolicy == .notRequired)
        #expect(bench.items().count == 1 && !next.requiresUserPresence)
        #expect(bench.device.prompts == ["change", "r", "change"])
    }

    @Test("A user who is not recognized changes nothing")
    func refused() async throws {
        defer { bench.remove() }
        let store = bench.store(lock: .biometrics)
        try await store.save(.first)
        bench.device.user(answers: .notRecognized, .cancelled)
        for expected in [TokenStoreError.Code.userPresenceFailed, .userPresenceRefused] {
            #expect(
                await code { () throws(TokenStoreError) in try await change(store, to: .notRequired) } == expected)
        }
        bench.device.isInBackground = true
        #expect(
            await code { () throws(TokenStoreError) in try await change(store, to: .notRequired) }
                == .userPresenceNeeded)
        #expect(store.unlockPolicy == .biometrics && store.requiresUserPresence)
    }

    @Test("A locked session keeps its lock until the user has unlocked it")
    func locked() async throws {
        defer { bench.remove() }
        try await bench.store(lock: .biometrics).save(.first)
        let next = bench.store(lock: .biometrics)
        #expect(
            await code { () throws(TokenStoreError) in try await next.setUnlockPolicy(.notRequired) }
                == .userPresenceNeeded)
        #expect(next.unlockPolicy == .biometrics)
    }

    @Test("A device that cannot authenticate its user cannot lock an open session; without one the choice is kept")
    func unavailable() async throws {
        defer { bench.remove() }
        bench.device.removePasscode()
        let store = bench.store()
        try await change(store, to: .notRequired)
        try await store.save(.first)
        #expect(
            await code { () throws(TokenStoreError) in try await store.authenticate(toSet: .biometrics, reason: "r") }
                == .userPresenceUnavailable)
        #expect(
            await code { () throws(TokenStoreError) in try await store.setUnlockPolicy(.biometrics) }
                == .userPresenceUnavailable)
        #expect(store.unlockPolicy == .notRequired)
        try await store.delete()
        try await store.setUnlockPolicy(.biometrics)
        #expect(bench.store().unlockPolicy == .biometrics && bench.device.prompts.isEmpty)
    }

    @Test("If the Keychain fails, the former choice stays")
    func fails() async throws {
        defer { bench.remove() }
        let store = bench.store()
        try await store.save(.first)
        bench.device.fail("SecItemAdd", with: errSecNotAvailable)
        #expect(
            await code { () throws(TokenStoreError) in try await store.setUnlockPolicy(.biometrics) } == .failed)
        #expect(store.unlockPolicy == .notRequired && !store.requiresUserPresence)
        #expect(try await bench.store().load() == .first)
    }

    @Test("A choice that cannot be read unlocks nothing, and one of a later version is the strictest")
    func unreadable() async throws {
        defer { bench.remove() }
        let store = bench.store(lock: .biometrics)
        try await store.setUnlockPolicy(.notRequired)
        let file = bench.container.appendingPathComponent("\(KeychainBench.service).session.unlock-policy")
        try Data("retina".utf8).write(to: file)
        #expect(store.unlockPolicy == .biometrics)
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        #expect(await code { () throws(TokenStoreError) in try await store.save(.first) } == .failed)
        #expect(store.unlockPolicy == .biometrics)
    }
}
