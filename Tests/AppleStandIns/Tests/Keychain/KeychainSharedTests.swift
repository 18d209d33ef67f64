import Dispatch
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

    @Test("A sign-in of the extension survives the app's first read, which discards the session of an earlier install")
    func signInDuringFirstRead() async throws {
        defer { bench.remove() }
        try await ofApp().save(.first)
        bench.remove()
        let transport = FakeTransport(.json(Sample.auth("extension")))
        let other = try client(ofExtension(), transport)
        let signIn = Locked<Task<Void, any Error>?>(nil)
        // The app has read that it is newly installed, and has not discarded the session yet.
        let app = bench.store(group: KeychainBench.shared, afterReinstall: .discard) { file in
            let mark = Result { try Data(contentsOf: file) }
            signIn.withLock { task in
                guard task == nil else { return }
                let hasSignedIn = DispatchSemaphore(value: 0)
                task = Task {
                    defer { hasSignedIn.signal() }
                    try await other.signIn(identifier: "ada@example.com", password: "correct horse")
                }
                // With the lock, the sign-in waits for this read.
                _ = hasSignedIn.wait(timeout: .now() + 0.5)
            }
            return try mark.get()
        }
        try await client(app, FakeTransport()).session.start()
        try await signIn.withLock { $0 }?.value
        let restarted = try client(ofExtension(), FakeTransport())
        try await restarted.session.start()
        #expect(await restarted.session.state.user == Sample.user)
    }

    private func client(_ store: KeychainTokenStore, _ transport: FakeTransport) throws -> GatehouseClient {
        try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: store, transport: transport,
                checksAtLaunch: false))
    }

    @Test("Clients of two servers cannot share an account in one process; clients of one server can")
    func servers() throws {
        defer { bench.remove() }
        func client(_ address: String, account: String) throws -> GatehouseClient {
            let service = "servers.\(bench.container.lastPathComponent)"
            let options = KeychainTokenStore.Options(service: service, account: account)
            return try GatehouseClient(
                configuration: GatehouseConfiguration(
                    baseURL: try #require(URL(string: address)), store: KeychainTokenStore(options),
                    transport: FakeTransport()))
        }
        var production: [GatehouseClient] = [
            try client("https://api.example.com", account: "session"),
            // The path does not belong to the server's identity.
            try client("https://API.example.com:443/team/", account: "session"),
        ]
        let error = withExtendedLifetime(production) {
            #expect(throws: GatehouseError.self) { try client("https://staging.example.com", account: "session") }
        }
        #expect(error?.kind == .misuse)
        for part in ["https://api.example.com:443", "\"session\"", "account of its own"] {
            #expect(error?.reason?.contains(part) == true, "\(part)")
        }
        let staging = try client("https://staging.example.com", account: "staging")
        production.removeFirst()
        withExtendedLifetime((production, staging)) {
            _ = #expect(throws: GatehouseError.self) { try client("https://staging.example.com", account: "session") }
        }
        // An app that has let its clients go may choose another server.
        production = []
        _ = try client("https://staging.example.com", account: "session")
    }

    @Test("An update of the app that begins to share its session keeps it")
    func beginsToShare() async throws {
        defer { bench.remove() }
        try await bench.store(afterReinstall: .discard).save(.first)
        #expect(try await ofApp().load() == .first)
        #expect(try await ofExtension().load() == .first)
    }
}
