import Foundation
import GatehouseService
import GatehouseServiceContracts
import TestKit
import Testing

@Suite("Bearers without a gateway")
struct BearerAuthenticationTests {
    /// Knows one token.
    private struct OneToken: BearerVerifier {
        static let user = ForwardedUser(id: UUID(), sessionID: UUID(), role: "courier")

        func user(of token: String) async throws(Problem) -> ForwardedUser {
            guard token == "good" else { throw Problem(.tokenExpired) }
            return Self.user
        }
    }

    private enum Shop: ServiceApplication {
        static let name = "shop"
        static let defaultPort = 9100

        static func configuration(from settings: Settings) -> CallerCredentials {
            settings.credentials(ofCallers: "gateway")
        }

        static func build(_ credentials: CallerCredentials, boot: ServiceBoot) async throws -> ServiceAssembly {
            let router = ServiceRouter()
            router.group("/v1/mine").add(middleware: BearerAuthentication(OneToken())).get { _, context in
                try Response.json(["role": try context.requireUser().role])
            }
            router.group("/v1/open").add(middleware: BearerAuthentication(OneToken(), isRequired: false))
                .get { _, context in try Response.json(["role": context.user?.role]) }
            return ServiceAssembly(router: router, credentials: credentials, boot: boot)
        }
    }

    private func run(_ body: @Sendable (TestHTTPClient) async throws -> Void) async throws {
        try await withService(Shop.self, settings: ["SHOP_GATEWAY_CREDENTIALS": "dev-gateway"]) { service in
            try await body(TestHTTPClient(service.url))
        }
    }

    @Test("A good token opens the route", arguments: ["Bearer good", "bearer good", "BEARER  good"])
    func good(field: String) async throws {
        try await run { shop in
            for path in ["/v1/mine", "/v1/open"] {
                let answer = try await shop.get(path, headers: ["Authorization": field])
                #expect(answer.status == 200 && answer.text == #"{"role":"courier"}"#)
            }
        }
    }

    @Test("Anything else is refused as a problem", arguments: ["Basic good", "good", "Bearer", "Bearer good x"])
    func bad(field: String) async throws {
        try await run { shop in
            for path in ["/v1/mine", "/v1/open"] {
                let answer = try await shop.get(path, headers: ["Authorization": field])
                #expect(answer.status == 401 && answer.header("WWW-Authenticate")?.hasPrefix("Bearer") == true)
                #expect(["INVALID_TOKEN", "TOKEN_EXPIRED"].contains(answer.code))
            }
        }
    }

    @Test("Without a token only an open route answers")
    func missing() async throws {
        try await run { shop in
            let (mine, open) = (try await shop.get("/v1/mine"), try await shop.get("/v1/open"))
            #expect(mine.code == "INVALID_TOKEN" && open.text == #"{"role":null}"#)
        }
    }

    @Test("A request with the gateway's credential needs no token; one without it does")
    func gateway() async throws {
        try await run { shop in
            var fields = [
                HeaderName.userID: UUID().uuidString, HeaderName.sessionID: UUID().uuidString,
                HeaderName.role: "manager",
            ]
            let refused = try await shop.get("/v1/mine", headers: fields)
            fields[HeaderName.credential] = "dev-gateway"
            let believed = try await shop.get("/v1/mine", headers: fields)
            #expect(refused.code == "INVALID_TOKEN" && believed.text == #"{"role":"manager"}"#)
        }
    }
}
