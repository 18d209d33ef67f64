import Foundation
import Synchronization
import Testing

@testable import GatehouseClient

@Suite("A session in a file") struct FileTokenStoreSessionTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    let server: FakeGatehouse
    var file: URL { folder.file("session.json") }

    init() throws {
        folder = try TemporaryFolder()
        server = FakeGatehouse(clock: clock)
    }

    private func launch() throws -> GatehouseClient {
        try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: FileTokenStore(file: file),
                transport: server, clock: clock))
    }

    @Test("It outlives its process") func outlives() async throws {
        try await launch().signIn(identifier: "ada@example.com", password: "correct horse")
        let next = try launch()
        try await next.session.start()
        #expect(await next.session.state.user?.email == "ada@example.com")
        try await next.signOut()
        let last = try launch()
        try await last.session.start()
        #expect(await last.session.state == .signedOut(reason: nil))
    }

    @Test("Two that share it renew it once between them") func shared() async throws {
        let first = try launch()
        try await first.signIn(identifier: "ada@example.com", password: "correct horse")
        let second = try launch()
        try await second.session.start()
        clock.advance(by: .seconds(3700))
        async let one = first.session.accessToken()
        async let two = second.session.accessToken()
        #expect(try await one == two)
        #expect(server.count("/v1/auth/refresh") == 1)
    }

    @Test("A caller that is cancelled while it waits for another process writes nothing") func cancelled()
        async throws
    {
        let client = try launch()
        try await client.signIn(identifier: "ada@example.com", password: "correct horse")
        server.state.withLock { $0.chains["session1"]?.user.displayName = "Ada" }
        let before = try Data(contentsOf: file)
        let file = file
        try await FileTokenStore(file: file).withExclusiveAccess { [server] in
            let asking = Task { try await client.me() }
            try await until("the server has answered") { server.count("/v1/auth/me") == 1 }
            asking.cancel()
            let error = await #expect(throws: GatehouseError.self) { try await asking.value }
            #expect(error?.kind == .cancelled)
            #expect(try Data(contentsOf: file) == before)
        }
        try await client.me()
        #expect(try StoredState(data: Data(contentsOf: file)).session?.user.displayName == "Ada")
    }

    @Test("A sign-out whose task is cancelled goes on to its end") func cancelledSignOut() async throws {
        let client = try launch()
        try await client.signIn(identifier: "ada@example.com", password: "correct horse")
        let file = file
        let ending = try await FileTokenStore(file: file).withExclusiveAccess {
            let ending = Task { try await client.signOut() }
            try await until("it has ended here") { await client.session.state.user == nil }
            ending.cancel()
            return ending
        }
        try await ending.value
        let stored = try StoredState(data: Data(contentsOf: file))
        #expect(stored.session == nil)
        try await until("the server knows") { server.state.withLock { $0.chains["session1"]?.isRevoked == true } }
    }

    @Test("A damaged file signs out, says why, and the next sign-in replaces it", arguments: ["", "{", "\u{0}\u{0}"])
    func corrupt(text: String) async throws {
        try await launch().signIn(identifier: "ada@example.com", password: "correct horse")
        try Data(text.utf8).write(to: file)
        let client = try launch()
        try await client.session.start()
        #expect(await client.session.state == .signedOut(reason: .storeCorrupt))
        try await client.signIn(identifier: "ada@example.com", password: "correct horse")
        let next = try launch()
        try await next.session.start()
        #expect(await next.session.state.user != nil)
    }

    @Test("A file that is refused signs no user out") func refused() async throws {
        try await launch().signIn(identifier: "ada@example.com", password: "correct horse")
        try TemporaryFolder.setMode(0o666, of: file)
        let client = try launch()
        let error = await #expect(throws: GatehouseError.self) { try await client.session.accessToken() }
        #expect(error?.kind == .storage)
        try TemporaryFolder.setMode(0o600, of: file)
        _ = try await client.session.accessToken()
    }
}
