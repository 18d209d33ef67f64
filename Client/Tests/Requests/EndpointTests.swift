import Foundation
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

private struct Order: Codable, Sendable, Equatable {
    var id: Int
    var placedAt: Date
}

struct EndpointTests {
    private let base = Self.configuration("https://api.example.com/team/")

    private static func configuration(_ address: String) -> GatehouseConfiguration {
        GatehouseConfiguration(baseURL: URL(string: address)!, store: InMemoryTokenStore())
    }

    @Test func aPathBelowTheBase() throws {
        let request = try GatehouseEndpoint<Order>("GET", "/v1/orders/7").request(below: base)
        #expect(request.url?.absoluteString == "https://api.example.com/team/v1/orders/7")
        #expect(request.httpMethod == "GET")
        #expect(request.httpBody == nil)
        #expect(request.value(forHTTPHeaderField: "Content-Type") == nil)
    }

    @Test func aQueryIsEncoded() throws {
        let query = [URLQueryItem(name: "q", value: "1+1 & more"), URLQueryItem(name: "n", value: nil)]
        let endpoint = GatehouseEndpoint<Order>("GET", "/search?a=b", query: query)
        let url = try endpoint.request(below: base).url
        #expect(url?.absoluteString == "https://api.example.com/team/search?a=b&q=1%2B1%20%26%20more&n")
    }

    @Test func anEncodedPathStaysAsItIs() throws {
        let url = try GatehouseEndpoint<Order>("GET", "/files/a%2Fb").request(below: base).url
        #expect(url?.absoluteString == "https://api.example.com/team/files/a%2Fb")
    }

    @Test(arguments: ["", "v1/orders", ".evil.com/", "@evil.com/", ":8443/"])
    func aPathThatIsNone(path: String) {
        #expect {
            try GatehouseEndpoint<Order>("GET", path).request(below: Self.configuration("https://api.example.com"))
        } throws: {
            ($0 as? GatehouseError)?.kind == .misuse
        }
    }

    @Test func twoSlashesNameNoHost() throws {
        let url = try GatehouseEndpoint<Order>("GET", "//evil.com/a").request(below: base).url
        #expect(url?.host == "api.example.com")
    }

    @Test func bodies() throws {
        let order = Order(id: 7, placedAt: Date(timeIntervalSince1970: 0))
        let sent = try GatehouseEndpoint<Void>("POST", "/orders", json: order).request(below: base)
        #expect(sent.json == #"{"id":7,"placedAt":"1970-01-01T00:00:00Z"}"#)
        #expect(sent.value(forHTTPHeaderField: "Content-Type") == "application/json")
        var raw = GatehouseEndpoint<Int>("PUT", "/raw", body: Data("x".utf8), mediaType: "text/plain") { $0.count }
        raw.headers["X-Team"] = "blue"
        let request = try raw.request(below: base)
        #expect(request.value(forHTTPHeaderField: "Content-Type") == "text/plain")
        #expect(request.value(forHTTPHeaderField: "X-Team") == "blue")
        #expect(throws: GatehouseError.self) {
            try GatehouseEndpoint<Void>("POST", "/orders", json: Double.nan).request(below: base)
        }
    }

    @Test func answersAreRead() async throws {
        let signedIn = try await SignedIn()
        let order = Order(id: 7, placedAt: Date(timeIntervalSince1970: 0))
        await signedIn.transport.then(.json(order), .text("raw"), .status(204), .json([order]), .json(order))
        let client = signedIn.client
        #expect(try await client.send(GatehouseEndpoint<Order>("GET", "/orders/7")) == order)
        #expect(try await client.send(GatehouseEndpoint<Data>("GET", "/raw")) == Data("raw".utf8))
        try await client.send(GatehouseEndpoint<Void>("DELETE", "/orders/7"))
        #expect(
            try await client.send(GatehouseEndpoint<[Order]>("POST", "/orders/find", json: ["open": true])) == [order])
        #expect(
            try await client.send(GatehouseEndpoint<Data>("POST", "/orders", json: order)) == ClientJSON.encode(order))
        let requests = await signedIn.requests
        #expect(requests.allSatisfy { $0.bearer == "Bearer access-first" })
    }

    @Test func anAnswerOfAnotherShapeCannotBeRead() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.text(#"{"id":"secret"}"#))
        await #expect { try await signedIn.client.send(GatehouseEndpoint<Order>("GET", "/orders/7")) } throws: {
            guard let error = $0 as? GatehouseError else { return false }
            return error.kind == .unreadable && error.reason?.contains("secret") == false && error.body == nil
        }
    }

    @Test func aRefusalIsAnError() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.problem(.notFound), .problem(.rateLimited, headers: ["Retry-After": "60"]))
        await #expect { try await signedIn.client.send(GatehouseEndpoint<Order>("GET", "/orders/7")) } throws: {
            let error = $0 as? GatehouseError
            return error?.kind == .notFound && error?.code == "NOT_FOUND" && error?.requestID == "the-request"
        }
        await #expect { try await signedIn.client.send(GatehouseEndpoint<Order>("GET", "/orders/7")) } throws: {
            ($0 as? GatehouseError)?.retry == .after(.seconds(60))
        }
    }

    @Test func anEndpointMaySayThatItIsRepeatable() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.failure(.networkConnectionLost), .status(204))
        var endpoint = GatehouseEndpoint<Void>("POST", "/v1/orders/7/paid")
        endpoint.isIdempotent = true
        try await signedIn.client.send(endpoint)
        #expect(await signedIn.requests.count == 2)
    }
}
