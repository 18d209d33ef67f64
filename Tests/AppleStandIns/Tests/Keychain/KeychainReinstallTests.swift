import Foundation
import Security
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("The app was reinstalled; the Keychain has kept its items")
struct KeychainReinstallTests {
    let bench = KeychainBench()

    private func reinstall() { bench.remove() }

    @Test("By default the first launch clears the Keychain")
    func byDefault() async throws {
        defer { bench.remove() }
        let byDefault = KeychainTokenStore.Options().afterReinstall
        try await bench.store(lock: .biometrics, afterReinstall: byDefault).save(.first)
        reinstall()
        #expect(try await bench.store(afterReinstall: byDefault).load() == nil)
        #expect(bench.items().isEmpty)
    }

    @Test("Discard: the session that an earlier installation has left can be taken once, to end it at the server")
    func taken() async throws {
        defer { bench.remove() }
        try await bench.store(afterReinstall: .discard).save(.first)
        #expect(await bench.store(afterReinstall: .discard).takeDiscarded() == nil)
        reinstall()
        let store = bench.store(afterReinstall: .discard)
        #expect(try await store.load() == nil)
        #expect(await store.takeDiscarded() == .first)
        #expect(try await store.load() == nil)
        #expect(await store.takeDiscarded() == nil)
        #expect(bench.items().isEmpty)
    }

    @Test("Discard: a failure after the deletion does not lose it")
    func takenLater() async throws {
        defer { bench.remove() }
        bench.add(.first)
        try Data().write(to: bench.container)
        let store = bench.store(afterReinstall: .discard) { _ in throw CocoaError(.fileReadNoSuchFile) }
        #expect(await code { () throws(TokenStoreError) in try await store.load() } == .failed)
        bench.remove()
        #expect(try await store.load() == nil)
        #expect(await store.takeDiscarded() == .first)
    }

    @Test("Discard: a session behind Face ID, or one that cannot be read, is discarded all the same")
    func notTaken() async throws {
        defer { bench.remove() }
        try await bench.store(lock: .biometrics, afterReinstall: .discard).save(.first)
        reinstall()
        let store = bench.store(lock: .biometrics, afterReinstall: .discard)
        #expect(try await store.load() == nil)
        #expect(await store.takeDiscarded() == nil && bench.items().isEmpty)
    }

    @Test("Discard: the first launch ends the earlier session at the server")
    func informsServer() async throws {
        defer { bench.remove() }
        let transport = FakeTransport(.json(Sample.auth("first")), .status(204))
        func launch() throws -> GatehouseClient {
            try GatehouseClient(
                configuration: GatehouseConfiguration(
                    baseURL: try #require(URL(string: "https://api.example.com")),
                    store: bench.store(afterReinstall: .discard), transport: transport, clock: ManualClock()))
        }
        try await launch().signIn(identifier: "ada@example.com", password: "correct horse")
        reinstall()
        let client = try launch()
        try await client.session.start()
        #expect(await client.session.state == .signedOut(reason: nil))
        try await eventually("the server knows") { await transport.requests.count == 2 }
        let logout = try #require(await transport.requests.last)
        #expect(logout.line == "POST /v1/auth/logout" && logout.json == #"{"refreshToken":"refresh-first"}"#)
    }

    @Test("Keep: still signed in")
    func keep() async throws {
        defer { bench.remove() }
        try await bench.store().save(.first)
        reinstall()
        #expect(try await bench.store().load() == .first)
    }

    @Test("Discard: signed out once, and later sessions stay")
    func discard() async throws {
        defer { bench.remove() }
        try await bench.store(lock: .biometrics, afterReinstall: .discard).save(.first)
        #expect(bench.items().count == 2)
        reinstall()
        #expect(try await bench.store(afterReinstall: .discard).load() == nil)
        #expect(bench.items().isEmpty)
        try await bench.store(afterReinstall: .discard).save(.second)
        #expect(try await bench.store(afterReinstall: .discard).load() == .second)
    }

    @Test("Discard: a sign-in before the first read keeps its session")
    func saveFirst() async throws {
        defer { bench.remove() }
        bench.add(.first)
        try await bench.store(afterReinstall: .discard).save(.second)
        #expect(try await bench.store(afterReinstall: .discard).load() == .second)
    }

    @Test("An update from keep to discard finds the marker of the earlier version")
    func policyChanges() async throws {
        defer { bench.remove() }
        try await bench.store(afterReinstall: .keep).save(.first)
        #expect(try await bench.store(afterReinstall: .discard).load() == .first)
    }

    @Test("Prewarmed before the device was unlocked: the marker cannot be read, and nothing is discarded")
    func prewarmed() async throws {
        defer { bench.remove() }
        try await bench.store(afterReinstall: .discard).save(.first)
        bench.device.lock = .beforeFirstUnlock
        let warm = bench.store(afterReinstall: .discard) { [bench] file in
            if bench.device.lock == .beforeFirstUnlock { throw CocoaError(.fileReadNoPermission) }
            return try Data(contentsOf: file)
        }
        #expect(await code { () throws(TokenStoreError) in try await warm.load() } == .deviceLocked)
        #expect(await code { () throws(TokenStoreError) in try await warm.save(.second) } == .deviceLocked)
        bench.device.lock = .unlocked
        #expect(try await warm.load() == .first)
    }

    @Test("An unreadable marker is not a missing one, even if the Keychain can be read already")
    func unreadableMark() async throws {
        defer { bench.remove() }
        try await bench.store(afterReinstall: .discard).save(.first)
        let early = bench.store(afterReinstall: .discard) { _ in throw CocoaError(.fileReadNoPermission) }
        #expect(await code { () throws(TokenStoreError) in try await early.load() } == .deviceLocked)
        #expect(try await bench.store(afterReinstall: .discard).load() == .first)
    }

    @Test("Prewarmed without a marker: it is set only after the Keychain has been emptied")
    func prewarmedAfterReinstall() async throws {
        defer { bench.remove() }
        bench.add(.first, [kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly])
        bench.device.lock = .beforeFirstUnlock
        let store = bench.store(afterReinstall: .discard)
        #expect(await code { () throws(TokenStoreError) in try await store.load() } == .deviceLocked)
        #expect(!FileManager.default.fileExists(atPath: bench.mark.path))
        bench.device.lock = .unlocked
        #expect(try await store.load() == nil)
    }

    @Test("Keep: a marker that cannot be read or written causes no failure")
    func keepWithoutMark() async throws {
        defer { bench.remove() }
        let store = bench.store { _ in throw CocoaError(.fileReadNoPermission) }
        try await store.save(.first)
        #expect(try await store.load() == .first)
    }

    @Test(
        "Discard: a folder that cannot be written is an error, and nothing is saved that the next start would discard")
    func discardWithoutFolder() async throws {
        defer { bench.remove() }
        try Data().write(to: bench.container)
        let store = bench.store(afterReinstall: .discard) { _ in throw CocoaError(.fileReadNoSuchFile) }
        #expect(await code { () throws(TokenStoreError) in try await store.save(.first) } == .failed)
        #expect(bench.items().isEmpty)
    }

    @Test("Discard: a marker that cannot be read for another reason is an error")
    func unreadable() async throws {
        defer { bench.remove() }
        let store = bench.store(afterReinstall: .discard) { _ in throw CocoaError(.fileReadCorruptFile) }
        bench.add(.first)
        #expect(await code { () throws(TokenStoreError) in try await store.load() } == .failed)
        #expect(bench.items().count == 1)
    }
}
