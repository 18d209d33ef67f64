import Foundation
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("A network's sign-in page in the server's place") struct CaptivePortalTests {
    private let page = FakeTransport.Reply.text("<html>Welcome</html>", mediaType: "text/html; charset=utf-8")

    private struct Order: Codable, Sendable {
        var id: Int
    }

    @Test("Gatehouse's own calls may be tried again")
    func ownCalls() async throws {
        let transport = FakeTransport(page)
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: "https://api.example.com")), store: InMemoryTokenStore(),
                transport: transport))
        let error = await #expect(throws: GatehouseError.self) {
            try await client.signIn(identifier: "ada@example.com", password: "correct horse")
        }
        #expect(error?.kind == .unavailable && error?.retry == .now && error?.status == 200)
    }

    @Test("A refresh that a page answers does not end the session")
    func refresh() async throws {
        let signedIn = try await SignedIn()
        signedIn.clock.advance(by: .seconds(3601))
        await signedIn.transport.then(page, .json(Sample.auth("second")), .text("done"))
        let error = await #expect(throws: GatehouseError.self) {
            try await signedIn.client.data(for: signedIn.request())
        }
        #expect(error?.kind == .unavailable)
        #expect(try await signedIn.client.data(for: signedIn.request()).1.statusCode == 200)
    }

    @Test("A logout that a page answers is sent again")
    func logout() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(page)
        try await signedIn.client.signOut()
        #expect(await signedIn.requests.map(\.line) == ["POST /v1/auth/logout"])
        #expect(await signedIn.client.session.machine.pendingLogouts.count == 1)
    }

    @Test("The app's calls may be tried again; those for HTML get it")
    func appCalls() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(page, page, .text("not an order", mediaType: "application/json"))
        let endpoint = GatehouseEndpoint<Order>("GET", "/v1/orders/7")
        let error = await #expect(throws: GatehouseError.self) { try await signedIn.client.send(endpoint) }
        #expect(error?.kind == .unavailable && error?.retry == .now)
        let body = try await signedIn.client.send(GatehouseEndpoint<Data>("GET", "/imprint"))
        #expect(body == page.body)
        let other = await #expect(throws: GatehouseError.self) { try await signedIn.client.send(endpoint) }
        #expect(other?.kind == .unreadable && other?.retry == .never)
    }

    @Test("An event stream may be opened again")
    func events() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(page)
        let request = try signedIn.request("/v1/live")
        let error = await #expect(throws: GatehouseError.self) {
            for try await _ in signedIn.client.events(for: request) {}
        }
        #expect(error?.kind == .unavailable)
    }
}
