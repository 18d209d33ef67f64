import Foundation
import Security
import Testing

@testable import GatehouseClient

@Suite("An app and its extension share a session in the Keychain", .serialized)
struct KeychainSharedTests {
    let bench = KeychainBench()
    private let appExtension: SimulatedApp

    init() { appExtension = SimulatedApp(on: bench.device, accessGroups: ["TEAM.extension", KeychainBench.shared]) }

    private func ofApp() -> KeychainTokenStore {
        bench.store(group: KeychainBench.shared, afterReinstall: .discard)
    }

    private func ofExtension() -> KeychainTokenStore {
        bench.store(of: appExtension, group: KeychainBench.shared, afterReinstall: .discard)
    }

    @Test("They read, refresh and write in turns")
    func turns() async throws {
        defer { bench.remove() }
        let stores = [ofApp(), ofExtension()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores {
                group.addTask {
                    for _ in 0..<20 {
                        try await store.withExclusiveAccess {
                            // Two at once would lose one.
                            let count = try await store.load().flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
                            try await store.save(Data("\(count + 1)".utf8))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await ofApp().load() == Data("40".utf8))
    }

    @Test("A process that the system suspends nevertheless gives the lock back")
    func suspended() async throws {
        defer { bench.remove() }
        let (app, other) = (ofApp(), ofExtension())
        try await app.withExclusiveAccess {
            ExpiringActivities.expireAll()
            try await other.withExclusiveAccess { try await other.save(.second) }
        }
        #expect(try await app.load() == .second)
    }

    @Test("The extension's first start is no installation, nor is the app's after it")
    func firstStart() async throws {
        defer { bench.remove() }
        try await ofApp().save(.first)
        #expect(try await ofExtension().load() == .first)
        #expect(try await ofApp().load() == .first)
    }

    @Test("After a reinstallation the session is discarded, whichever of them starts first", arguments: [true, false])
    func reinstalled(isApp: Bool) async throws {
        defer { bench.remove() }
        try await ofApp().save(.first)
        bench.remove()
        #expect(try await (isApp ? ofApp() : ofExtension()).load() == nil)
    }

    @Test("An update of the app that begins to share its session keeps it")
    func beginsToShare() async throws {
        defer { bench.remove() }
        try await bench.store(afterReinstall: .discard).save(.first)
        #expect(try await ofApp().load() == .first)
        #expect(try await ofExtension().load() == .first)
    }
}
