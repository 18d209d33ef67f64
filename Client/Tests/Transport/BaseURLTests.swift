import Foundation
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("The base URLs that may receive tokens")
struct BaseURLTests {
    @Test(
        "Plain HTTP to the local network, in debug builds only",
        arguments: [
            "http://macbook.local:8080", "http://10.0.0.7", "http://172.16.1.2:8080", "http://192.168.1.20",
            "http://169.254.3.4",
        ])
    func localNetwork(address: String) throws {
        let url = try #require(URL(string: address))
        #expect(GatehouseClient.isSafe(url, isDebugBuild: true))
        #expect(!GatehouseClient.isSafe(url, isDebugBuild: false))
    }

    @Test(
        "Other machines need https in each build",
        arguments: [
            "http://api.example.com", "http://11.0.0.7", "http://172.32.1.2", "http://192.169.1.20",
            "http://10.0.0.7.example.com",
            "http://local", "http://macbook.local.example.com", "http://10.0.0.07x", "http://user@192.168.1.20",
        ])
    func otherMachines(address: String) throws {
        let url = try #require(URL(string: address))
        #expect(!GatehouseClient.isSafe(url, isDebugBuild: true))
        #expect(!GatehouseClient.isSafe(url, isDebugBuild: false))
    }

    @Test(
        "A base URL may end with slashes, for the library's requests and the app's",
        arguments: ["", "/", "//", "/team", "/team/"])
    func slashes(end: String) async throws {
        let address = "https://api.example.com\(end)"
        let transport = FakeTransport(.json(Sample.auth("first")), .json(Sample.user), .text("{}"))
        let client = try GatehouseClient(
            configuration: GatehouseConfiguration(
                baseURL: try #require(URL(string: address)), store: InMemoryTokenStore(), transport: transport))
        try await client.signIn(identifier: "ada@example.com", password: "correct horse")
        try await client.me()
        _ = try await client.send(GatehouseEndpoint<Data>("GET", "/v1/orders?year=2026"))
        let stem = end.hasPrefix("/team") ? "https://api.example.com/team" : "https://api.example.com"
        #expect(
            await transport.requests.map { $0.url?.absoluteString }
                == ["/v1/auth/login", "/v1/auth/me", "/v1/orders?year=2026"].map { stem + $0 })
        #expect(client.configuration.url(forPath: "v1/orders") == nil)
    }

    @Test(
        "This machine, and https", arguments: ["http://127.0.0.1:8080", "http://localhost", "https://api.example.com"])
    func allowed(address: String) throws {
        #expect(GatehouseClient.isSafe(try #require(URL(string: address)), isDebugBuild: false))
    }
}
