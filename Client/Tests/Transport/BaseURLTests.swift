import Foundation
import Testing

@testable import GatehouseClient

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
        "This machine, and https", arguments: ["http://127.0.0.1:8080", "http://localhost", "https://api.example.com"])
    func allowed(address: String) throws {
        #expect(GatehouseClient.isSafe(try #require(URL(string: address)), isDebugBuild: false))
    }
}
