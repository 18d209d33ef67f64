import Foundation
import GatehouseClient
import GatehouseServiceContracts
import TestKit
import Testing

/// Attackers who guess passwords, beside the user's own sign-ins, through the gateway. Identity's `AttemptRoutesTests`
/// have the limits of each address, device and identifier.
@Suite(.gatehouse(settings: ["GATEHOUSE_RATE_LIMITS": "on", "GATEWAY_TRUSTED_PROXIES": "127.0.0.1"]))
struct GuessingTests {
    private let system = GatehouseSystem.current
    private let user = Journey.uniqueEmail()
    /// An address of a range that is kept for such tests (RFC 2544).
    private let home = "198.18.\(Int.random(in: 0...255)).\(Int.random(in: 1...254))"

    private func post(
        _ path: String, _ body: some Encodable & Sendable, from address: String
    ) async throws -> TestHTTPClient.Response {
        try await system.gateway.call(
            "POST", path, headers: ["Content-Type": "application/json", "X-Forwarded-For": address],
            body: JSON.encode(body))
    }

    private func login(
        _ password: String = Journey.password, from address: String, on device: SessionDevice? = nil
    ) async throws -> TestHTTPClient.Response {
        try await post(
            "/v1/auth/login", LoginRequest(identifier: user, password: password, device: device), from: address)
    }

    /// - Returns: the token by which the device is known from now on.
    private func register() async throws -> String {
        let answer = try await post(
            "/v1/auth/register", RegisterRequest(identifier: user, password: Journey.password), from: home)
        try #require(answer.status == 201, "\(answer.text)")
        return try #require(try answer.decode(AuthResponse.self).deviceToken)
    }

    /// Tries wrong passwords until one is refused.
    private func exhaust(from address: String) async throws {
        for _ in 0..<100 where try await login("not the password", from: address).status == 429 { return }
        throw TestKitError("no attempt is refused")
    }

    /// Whether the right password is refused at an address once the user's guesses are used up at another one. Some
    /// return with time, which on a busy machine may be between two requests.
    private func isRefused(from address: String, afterThoseOf other: String) async throws -> Bool {
        for _ in 0..<10 {
            try await exhaust(from: other)
            if try await login(from: address).status == 429 { return true }
        }
        return false
    }

    @Test func manyAddressesAreLimitedAndAKnownDeviceIsNot() async throws {
        let token = try await register()
        let codes = try await withThrowingTaskGroup(of: [String?].self) { group in
            for bot in 0..<16 {
                group.addTask {
                    var codes: [String?] = []
                    for number in 1...20 {
                        codes.append(try await login("not the password", from: "198.19.\(bot).\(number)").code)
                    }
                    return codes
                }
            }
            return try await group.reduce(into: [String?: Int]()) { counts, codes in
                for code in codes { counts[code, default: 0] += 1 }
            }
        }
        #expect(Set(codes.keys) == ["INVALID_CREDENTIALS", "RATE_LIMITED"], "\(codes)")
        #expect((300...304).contains(codes["INVALID_CREDENTIALS"] ?? 0), "\(codes)")
        #expect(try await isRefused(from: home, afterThoseOf: "198.19.200.1"))
        #expect(try await login(from: home, on: SessionDevice(deviceToken: token)).status == 200)
    }

    /// With the app's library, at an address whose guesses are used up.
    @Test func theClientSendsItsDeviceToken() async throws {
        let device = ClientDevice()
        let client = try await device.registered(user)
        try await client.signOut()
        try await exhaust(from: "127.0.0.1")
        // In a later launch, too.
        let again = try await device.signedIn(user)
        #expect(try await again.me().email == user)
        try await again.signOut()
    }

    /// While hashing is blocked, the gateway refuses passwords that have no permit, and refreshes go on.
    @Test func aFloodIsRefusedAtTheGateway() async throws {
        try await system.withIdentity(settings: ["GATEWAY_MAXIMUM_PASSWORDS_IN_FLIGHT": "1"]) { gateway, identity in
            let journey = system.journey(through: gateway)
            let session = try await journey.register()
            let request = LoginRequest(identifier: session.user.email ?? "", password: "not the password")
            await identity.suspend()
            let flood = (0..<40).map { _ in
                Task { try await journey.api.call("POST", "/v1/auth/login", json: request) }
            }
            let metrics = TestHTTPClient(gateway.adminURL)
            try await eventually("the gateway refuses passwords") {
                try await metrics.get("/metrics").text.split(separator: "\n").contains {
                    $0.hasPrefix("gatehouse_gateway_refusals_total") && $0.contains("reason=\"passwords\"")
                        && !$0.hasSuffix(" 0")
                }
            }
            #expect(try await journey.refresh(session.refreshToken).status == 200)
            #expect(try await metrics.get("/livez").status == 200)
            identity.resume()
            var answers: [TestHTTPClient.Response] = []
            for attempt in flood { answers.append(try await attempt.value) }
            let refused = answers.filter { $0.status == 503 }
            #expect(!refused.isEmpty && refused.allSatisfy { $0.header("retry-after") != nil })
            #expect(Set(answers.map(\.code)).isSubset(of: ["UNAVAILABLE", "INVALID_CREDENTIALS", "RATE_LIMITED"]))
        }
    }
}
