import AsyncHTTPClient
import Foundation
import GatehouseServiceContracts
import NIOCore
import NIOHTTP1

/// What an app would ask of the gateway, over connections that are kept.
struct GatewayClient: Sendable {
    let origin: String
    let http: HTTPClient

    func get(_ path: String, bearer: String) async throws {
        try await expectSuccess(send(.GET, path, bearer: bearer))
    }

    /// A user of its own for each.
    func newSession() async throws -> AuthResponse {
        try await register(identifier: Self.newIdentifier(), password: Self.password)
    }

    static let password = "correct horse battery staple"
    static func newIdentifier() -> String { "bench-\(UUID().uuidString.lowercased())@example.com" }

    func register(identifier: String, password: String) async throws -> AuthResponse {
        try await answer(
            to: send(
                .POST, "/v1/auth/register", body: RegisterRequest(identifier: identifier, password: password)))
    }

    func logIn(identifier: String, password: String) async throws {
        try await expectSuccess(
            send(.POST, "/v1/auth/login", body: LoginRequest(identifier: identifier, password: password)))
    }

    func signInWithApple(identityToken: String, authorizationCode: String? = nil) async throws {
        let request = AppleSignInRequest(identityToken: identityToken, authorizationCode: authorizationCode)
        try await expectSuccess(send(.POST, "/v1/auth/apple", body: request))
    }

    func refresh(_ refreshToken: String) async throws -> AuthResponse {
        try await answer(to: send(.POST, "/v1/auth/refresh", body: RefreshRequest(refreshToken: refreshToken)))
    }

    func logOut(refreshToken: String) async throws {
        try await expectSuccess(send(.POST, "/v1/auth/logout", body: LogoutRequest(refreshToken: refreshToken)))
    }

    func registerDevice(token: String, bearer: String) async throws {
        let registration = Registration(token: token, environment: .sandbox, bundleId: "com.example.app")
        try await expectSuccess(send(.POST, "/v1/devices/register", bearer: bearer, body: registration))
    }

    private func send(
        _ method: HTTPMethod, _ path: String, bearer: String? = nil, body: (any Encodable & Sendable)? = nil
    ) async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(url: origin + path)
        request.method = method
        if let bearer { request.headers.add(name: "Authorization", value: "Bearer \(bearer)") }
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: try JSON.encode(body)))
        }
        return try await http.executeRepeatingOne503(request, timeout: .seconds(10))
    }

    private func answer<Answer: Decodable>(to response: HTTPClientResponse) async throws -> Answer {
        let body = try await expectSuccess(response)
        return try JSON.decode(Answer.self, from: Data(body.readableBytesView))
    }

    @discardableResult
    private func expectSuccess(_ response: HTTPClientResponse) async throws -> ByteBuffer {
        let body = try await response.body.collect(upTo: 1 << 20)
        guard (200..<300).contains(response.status.code) else {
            throw BenchmarkError("answered \(response.status.code): \(String(buffer: body))")
        }
        return body
    }
}
