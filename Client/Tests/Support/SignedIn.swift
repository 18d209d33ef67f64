import Foundation
import GatehouseContracts
import Testing

@testable import GatehouseClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A client with a user signed in, over a scripted transport.
struct SignedIn {
    let client: GatehouseClient
    let transport: FakeTransport
    let clock = ManualClock()
    let telemetry = EventLog()

    /// - Parameter carrier: what stands before the scripted transport.
    init(
        bearerHosts: Set<String> = [], store: any TokenStore = InMemoryTokenStore(),
        carrier: (FakeTransport) -> any GatehouseTransport = { $0 }
    ) async throws {
        transport = FakeTransport(.json(Sample.auth("first")))
        let configuration = GatehouseConfiguration(
            baseURL: try #require(URL(string: "https://api.example.com")), store: store,
            transport: carrier(transport), telemetry: telemetry, clock: clock,
            device: SessionDevice(name: "Ada's phone"),
            bearerHosts: bearerHosts)
        client = try GatehouseClient(configuration: configuration)
        try await client.signIn(identifier: "ada@example.com", password: "correct horse")
    }

    /// Since the sign-in.
    var requests: [URLRequest] { get async { Array(await transport.requests.dropFirst()) } }

    func request(_ path: String = "/v1/orders", method: String = "GET") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "https://api.example.com" + path)))
        request.httpMethod = method
        return request
    }
}

enum Sample {
    static let user = GatehouseClient.User(
        id: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)), email: "ada@example.com",
        displayName: "Ada", role: "customer", authProviders: [.password],
        createdAt: Date(timeIntervalSince1970: 1_700_000_000))

    /// What a sign-in or a refresh answers; the tokens are named after `name`.
    static func auth(_ name: String) -> AuthResponse {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        return AuthResponse(
            accessToken: "access-\(name)", refreshToken: "refresh-\(name)", expiresIn: 3600,
            expiresAt: now.addingTimeInterval(3600), refreshExpiresIn: 86_400,
            refreshExpiresAt: now.addingTimeInterval(86_400), user: user)
    }
}
