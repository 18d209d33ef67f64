import Foundation
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct CarryingTests {
    private func carried(_ token: String, by fields: [(String, String)] = []) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "https://api.example.com/")))
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        return request.carrying(GatehouseAccessToken(Redacted(token)))
    }

    @Test(arguments: ["Authorization", "authorization", "AUTHORIZATION"])
    func theBearerReplacesWhatWasThere(name: String) throws {
        let request = try carried("new", by: [(name, "Bearer old"), ("X-Shop", "7")])
        #expect(request.value(forHTTPHeaderField: "Authorization") == "Bearer new")
        #expect(request.value(forHTTPHeaderField: "X-Shop") == "7")
        #expect(request.allHTTPHeaderFields?.count == 2)
    }

    @Test(arguments: ["a\r\nX-Evil: 1", "a\nb", "a\0b", "a b\r"])
    func noTokenEndsItsLine(token: String) throws {
        let fields = try carried(token).allHTTPHeaderFields ?? [:]
        #expect(fields.allSatisfy { field in !field.value.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 } })
    }
}
