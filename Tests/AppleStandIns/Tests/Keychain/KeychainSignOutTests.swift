import Foundation
import Security
import Testing

@testable import GatehouseClient

@Suite("A sign-out is recorded while the Keychain's session cannot be read")
struct KeychainSignOutTests {
    let bench = KeychainBench()

    @Test("Before the device's first unlock too, and the next process finds the record", arguments: [true, false])
    func recorded(isBeforeFirstUnlock: Bool) async throws {
        defer { bench.remove() }
        try await bench.store(lock: .biometrics).save(.first)
        if isBeforeFirstUnlock { bench.device.lock = .beforeFirstUnlock }
        #expect(try await !bench.store(lock: .biometrics).isSignOutPending())
        try await bench.store(lock: .biometrics).setSignOutPending(true)
        let next = bench.store(lock: .biometrics)
        #expect(try await next.isSignOutPending())
        // The session stays for its logout.
        bench.device.lock = .unlocked
        try await next.unlock(reason: "r")
        #expect(try await next.load() == .first)
        try await next.setSignOutPending(false)
        #expect(try await !bench.store(lock: .biometrics).isSignOutPending())
        try await next.setSignOutPending(false)
    }

    @Test("It is deleted with the session")
    func deleted() async throws {
        defer { bench.remove() }
        let store = bench.store()
        try await store.setSignOutPending(true)
        try await store.delete()
        #expect(try await !store.isSignOutPending())
    }

    @Test("A record that cannot be written is an error")
    func notWritten() async throws {
        defer { bench.remove() }
        try Data().write(to: bench.container)
        let store = bench.store()
        #expect(await code { () throws(TokenStoreError) in try await store.setSignOutPending(true) } == .failed)
    }
}
