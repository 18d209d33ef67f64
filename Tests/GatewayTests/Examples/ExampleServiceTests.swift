import Foundation
import Testing

@testable import GatewayService

@Suite("The example service behind the gateway")
struct ExampleServiceTests {
    private struct Answer: Decodable {
        struct Order: Decodable { var of: String }
        var orders: [Order]
        var role: String?
        var stores: String?
        var path: String
    }

    @Test("Is told who is calling by the gateway, and by nobody else")
    func identity() async throws {
        try await ExampleService.withService { service in
            let file = RoutesFile(yaml: try service.routesFile(), environment: [:])
            #expect(file.problems.isEmpty && file.routes.count == 1)
            try await GatewayHarness.withGateway(.init { $0.routes = { _ in file.routes } }) { gateway in
                #expect(try await gateway.send("GET /v1/orders/7").status == 401)

                let user = UUID()
                let claims = GatewayHarness.claims(role: "courier", stores: ["store-1", "store-2"], user: user)
                let forged = "Gatehouse-User-Id: \(UUID())\r\nGatehouse_Role: admin\r\nGATEHOUSE-STORE-IDS: all\r\n"
                let answer = try await gateway.send(
                    "GET /v1/orders/7", fields: forged, token: try GatewayHarness.token(claims))
                #expect(answer.status == 200)
                let told = try JSONDecoder().decode(Answer.self, from: Data(answer.body.utf8))
                #expect(told.orders.map(\.of) == [user.uuidString.lowercased()])
                #expect(told.role == "courier" && told.stores == "store-1,store-2" && told.path == "/v1/orders/7")
            }
        }
    }
}
