import Foundation
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Requests with JSON")
struct JSONRequestTests {
    private struct Order: Codable, Sendable, Equatable {
        var id: Int
        var placedAt: Date
    }

    private let order = Order(id: 7, placedAt: Date(timeIntervalSince1970: 1_800_000_000))
    private let json = #"{"id":7,"placedAt":"2027-01-15T08:00:00Z"}"#

    @Test("Each method sends and decodes JSON with dates in ISO 8601")
    func methods() async throws {
        let signedIn = try await SignedIn()
        let client = signedIn.client
        for _ in 0..<5 { await signedIn.transport.then(.text(json, mediaType: "application/json")) }
        var answers: [Order] = []
        answers.append(try await client.get("/v1/orders/7?open=true"))
        answers.append(try await client.post("/v1/orders", json: order))
        answers.append(try await client.put("/v1/orders/7", json: order))
        answers.append(try await client.patch("/v1/orders/7", json: order))
        answers.append(try await client.delete("/v1/orders/7"))
        #expect(answers == Array(repeating: order, count: 5))
        let requests = await signedIn.requests
        #expect(
            requests.map(\.line) == [
                "GET /v1/orders/7", "POST /v1/orders", "PUT /v1/orders/7", "PATCH /v1/orders/7", "DELETE /v1/orders/7",
            ])
        #expect(requests.map(\.json) == [nil, json, json, json, nil])
        #expect(requests.first?.url?.query == "open=true")
        #expect(requests.allSatisfy { $0.bearer == "Bearer access-first" })
    }

    @Test("Without a value to decode, any content will do")
    func noContent() async throws {
        let signedIn = try await SignedIn()
        let client = signedIn.client
        await signedIn.transport.then(.status(204), .text("done"), .status(204), .status(204), .status(204))
        try await client.post("/v1/orders/7/cancellation")
        try await client.post("/v1/orders", json: order)
        try await client.put("/v1/orders/7", json: order)
        try await client.patch("/v1/orders/7", json: order)
        try await client.delete("/v1/orders/7")
        #expect(await signedIn.requests.map(\.json) == [nil, json, json, json, nil])
    }

    @Test("The server's refusal is the error")
    func refused() async throws {
        let signedIn = try await SignedIn()
        await signedIn.transport.then(.problem(.notFound))
        let error = await #expect(throws: GatehouseError.self) {
            let _: Order = try await signedIn.client.get("/v1/orders/8")
        }
        #expect(error?.kind == .notFound)
    }
}
