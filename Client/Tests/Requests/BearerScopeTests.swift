import Foundation
import Testing

@testable import GatehouseClient

struct BearerScopeTests {
    private func covers(
        _ address: String, base: String = "https://api.example.com/team", hosts: Set<String> = []
    ) throws -> Bool {
        let configuration = GatehouseConfiguration(
            baseURL: try #require(URL(string: base)), store: InMemoryTokenStore(), bearerHosts: hosts)
        // What cannot be an address at all cannot be asked for.
        return URL(string: address).flatMap(Origin.init)
            .map { BearerScope(configuration: configuration).covers($0) } ?? false
    }

    @Test(arguments: [
        "https://api.example.com", "https://api.example.com/v1/orders?x=y", "https://API.Example.com/a",
        "https://api.example.com:443/a", "wss://api.example.com/live",
    ])
    func theBaseURLsOrigin(address: String) throws {
        #expect(try covers(address))
    }

    @Test(arguments: [
        "http://api.example.com/", "ws://api.example.com/", "https://api.example.com:8443/",
        "https://api.example.com./", "https://xapi.example.com/", "https://example.com/",
        "https://api.example.com.evil.com/", "https://api.example.com@evil.com/",
        "https://user@api.example.com/", "https://api.example.com%2eevil.com/", "https://api%2eexample.com/",
        "https://%61pi.example.com/", "https://api.example.com\\@evil.com/", "https:///a", "ftp://api.example.com/",
        "file:///api.example.com", "https://api.еxample.com/", "https://api.example.com%00.evil.com/", "/relative",
    ])
    func nothingElse(address: String) throws {
        #expect(try !covers(address))
    }

    @Test func otherHostsOnlyByHTTPSAndExactly() throws {
        let hosts: Set = ["files.example.com", "Live.example.com:8443"]
        #expect(try covers("https://files.example.com/a", hosts: hosts))
        #expect(try covers("https://FILES.example.com/a", hosts: hosts))
        #expect(try covers("wss://live.example.com:8443/a", hosts: hosts))
        for address in [
            "http://files.example.com/a", "https://files.example.com:8443/a", "https://live.example.com/a",
            "https://a.files.example.com/", "https://files.example.com.evil.com/", "https://example.com/",
        ] {
            #expect(try !covers(address, hosts: hosts), "\(address)")
        }
    }

    @Test func thisMachineInTheClear() throws {
        #expect(try covers("http://localhost:8080/a", base: "http://localhost:8080"))
        #expect(try covers("http://[::1]:8080/a", base: "http://[::1]:8080"))
        #expect(try !covers("http://localhost:8081/a", base: "http://localhost:8080"))
        #expect(try !covers("http://127.0.0.1:8080/a", base: "http://localhost:8080"))
        #expect(try !covers("http://localhost/a", base: "http://localhost:8080", hosts: ["localhost"]))
    }
}
