import Foundation
import Testing

@testable import GatehouseClient

@Suite("The client of an app")
struct LiveClientTests {
    @Test("It describes this device and installation, uses the system's store, and takes an app's own parts")
    func parts() throws {
        let url = try #require(URL(string: "https://api.example.com"))
        let client = GatehouseClient.live(baseURL: url) { $0.device?.installationId = "7" }
        #expect(client.configuration.baseURL == url)
        #expect(client.configuration.device?.model == SessionDevice.current.model)
        #expect(client.configuration.device?.installationId == "7")
        #if canImport(Security)
            #expect(client.configuration.store is KeychainTokenStore)
        #else
            #expect(client.configuration.store is FileTokenStore)
        #endif
        let known = GatehouseClient.live(baseURL: url).configuration.device?.installationId
        #expect(known.flatMap(UUID.init(uuidString:)) != nil)
        #expect(GatehouseClient.live(baseURL: url).configuration.device?.installationId == known)
        let transport = FakeTransport()
        let own = GatehouseClient.live(baseURL: url) {
            $0.store = InMemoryTokenStore()
            $0.transport = transport
        }
        #expect(own.configuration.store is InMemoryTokenStore && own.configuration.transport is FakeTransport)
    }
}
