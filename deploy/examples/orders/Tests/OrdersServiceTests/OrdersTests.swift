import Foundation
import Testing

@testable import OrdersService

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Orders")
struct OrdersTests {
    private static let user = "3f0c1f0e-8b1d-4d59-9a4e-6d6f0a2b7c11"

    /// The fields that the gateway adds to a request.
    private func fields(credential: String?) -> [String: String] {
        var fields = [
            "Gatehouse-User-Id": Self.user, "Gatehouse-Session-Id": UUID().uuidString, "Gatehouse-Role": "courier",
            "Gatehouse-Store-Ids": "store-1,store%202", "X-Request-Id": "test-1",
        ]
        fields["Gatehouse-Credential"] = credential
        return fields
    }

    @Test("A user gets the item", arguments: RunningOrders.credentials)
    func found(credential: String) async throws {
        try await RunningOrders.run { service in
            let one = try await service.get("/v1/orders/7", fields(credential: credential))
            #expect(one.status == 200)
            let item = try JSONDecoder().decode(Item.self, from: one.body)
            #expect(item.of == Self.user && item.role == "courier" && item.stores == ["store-1", "store 2"])

            let all = try await service.get("/v1/orders", fields(credential: credential))
            #expect(try JSONDecoder().decode(ItemList.self, from: all.body).items == [item])
        }
    }

    @Test("A request without the gateway's credential is refused", arguments: [nil, "", "dev-wrong"])
    func refused(credential: String?) async throws {
        try await RunningOrders.run { service in
            let answer = try await service.get("/v1/orders/7", fields(credential: credential))
            #expect(answer.status == 401 && answer.type == "application/problem+json")
        }
    }

    @Test("An unknown item is NOT_FOUND, with the request's identifier")
    func notFound() async throws {
        struct Document: Decodable {
            var code: String
            var requestId: String
        }
        try await RunningOrders.run { service in
            let answer = try await service.get("/v1/orders/8", fields(credential: RunningOrders.credentials[0]))
            #expect(answer.status == 404)
            let problem = try JSONDecoder().decode(Document.self, from: answer.body)
            #expect(problem.code == "NOT_FOUND" && problem.requestId == "test-1")
        }
    }

    @Test("A request whose deadline has passed is refused")
    func late() async throws {
        var fields = fields(credential: RunningOrders.credentials[0])
        fields["Gatehouse-Deadline-Ms"] = "0"
        try await RunningOrders.run { [fields] service in
            let answer = try await service.get("/v1/orders/7", fields)
            #expect(answer.status == 503)
        }
    }
}
