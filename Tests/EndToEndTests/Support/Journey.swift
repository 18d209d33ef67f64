import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

/// The steps that the tests take again and again, each checked as it is taken.
struct Journey: Sendable {
    let api: TestHTTPClient
    let apple: TestHTTPClient

    struct AppleSignIn: Codable, Sendable {
        var sub: String?
        var email: String?
        var emailVerified: Bool?
        var nonce: String?
        var audience: String?
        var expiresIn: Int?
        /// Of a sign-in on the web.
        var redirectUri: String?
        var isPrivateEmail: Bool?
        /// The team that has the app now.
        var transferredTo: String?
    }

    struct AppleSignInAnswer: Codable, Sendable {
        var identityToken: String
        var authorizationCode: String
        var sub: String
    }

    /// What Apple is to tell the app's server.
    struct AppleEvent: Codable, Sendable {
        var type: String
        var sub: String
        var email: String?
        var audience: String?
        /// Seconds since 1970.
        var eventTime: Int?
        var eventsAsObject: Bool?
    }

    static func uniqueEmail() -> String { "user-\(UUID().uuidString.lowercased())@example.com" }

    /// A number in the range that is kept free for fiction in no country: random enough never to meet itself.
    static func uniquePhone() -> String { "+4915\(Int.random(in: 100_000_000...999_999_999))" }

    static let password = "correct horse battery staple"

    func appleToken(_ request: AppleSignIn = AppleSignIn()) async throws -> AppleSignInAnswer {
        let answer = try await apple.call("POST", "/simulator/sign-in", json: request)
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decode(AppleSignInAnswer.self)
    }

    /// What Apple would post to the app's server, signed as Apple signs it.
    func appleNotification(_ event: AppleEvent) async throws -> AppleNotificationRequest {
        let answer = try await apple.call("POST", "/simulator/notification", json: event)
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decode(AppleNotificationRequest.self)
    }

    func signInWithApple(_ request: AppleSignInRequest) async throws -> AuthResponse {
        let answer = try await whenServed("POST", "/v1/auth/apple", json: request)
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decode(AuthResponse.self)
    }

    func register(identifier: String = uniqueEmail(), device: SessionDevice? = nil) async throws -> AuthResponse {
        let request = RegisterRequest(identifier: identifier, password: Self.password, device: device)
        let answer = try await whenServed("POST", "/v1/auth/register", json: request)
        try #require(answer.status == 201, "\(answer.text)")
        return try answer.decode(AuthResponse.self)
    }

    /// Asks again after a 503, as apps do: the gateway sees up to a second late that a service is back.
    func whenServed(
        _ method: String, _ path: String, bearer: String? = nil, json: some Encodable & Sendable
    ) async throws -> TestHTTPClient.Response {
        var answer: TestHTTPClient.Response?
        try await eventually("\(path) is served") {
            answer = try await api.call(method, path, bearer: bearer, json: json)
            return answer?.status != 503
        }
        return try #require(answer)
    }

    func refresh(_ token: String) async throws -> TestHTTPClient.Response {
        try await api.call("POST", "/v1/auth/refresh", json: RefreshRequest(refreshToken: token))
    }

    func me(_ accessToken: String) async throws -> TestHTTPClient.Response {
        try await api.call("GET", "/v1/auth/me", bearer: accessToken)
    }

    /// Waits until a revoked session's access token is refused.
    func expectRefused(_ accessToken: String) async throws {
        try await eventually("the access token is refused") { try await me(accessToken).code == "INVALID_TOKEN" }
    }

    func registration() -> Registration {
        let token = (0..<32).map { _ in String(format: "%02x", UInt8.random(in: 0...255)) }.joined()
        return Registration(token: token, environment: .sandbox, bundleId: "com.example.app", timeZone: "Europe/Berlin")
    }
}
