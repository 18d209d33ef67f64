import AsyncHTTPClient
import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import NIOCore
import TestKit
import Testing

@testable import AppleSimulator
@testable import IdentityCredentials

/// Apple begins an answer and does not end it.
@Suite struct AppleStallTests {
    private static let modes = [FaultMode.silent, .stalled, .dripping]

    private func withApple(_ body: (SimulatedApple, AppleServer) async throws -> Void) async throws {
        let apple = try SimulatedApple()
        let httpClient = HTTPClient(configuration: .gatehouse())
        do {
            try await withHTTPServer(apple.router()) { url in
                let secret = try AppleClientSecret(
                    teamID: "TEAM123456", keyID: "KEY1234567", pem: TestKeys.clientSecret)
                let server = AppleServer(
                    httpClient: httpClient, keysURL: url.appending(path: "auth/keys"),
                    tokenURL: url.appending(path: "auth/token"), revokeURL: url.appending(path: "auth/revoke"),
                    migrationURL: url.appending(path: "auth/usermigrationinfo"), clientSecret: secret,
                    timeout: .milliseconds(300), exchangeTimeout: .milliseconds(300))
                // What stalls ends, so that the server can.
                defer { apple.mode = .none }
                try await body(apple, server)
            }
        } catch {
            try await httpClient.shutdown()
            throw error
        }
        try await httpClient.shutdown()
    }

    /// The answer is `UNAVAILABLE`, known keys are used on, and the next fetch brings new ones.
    @Test(arguments: modes)
    func keysAreFetchedAnew(_ mode: FaultMode) async throws {
        try await withApple { apple, patient in
            var server = patient
            // Fetches that end well take as long as the machine is slow.
            server.timeout = .seconds(60)
            let (steady, hasty) = (server, patient)
            // Keys that came of age would be fetched in the background, also across a change of what Apple does.
            let keys = AppleKeys(rules: .init(unknownKeyCooldown: .zero, retryInterval: .zero), logger: .quiet) {
                try await (apple.mode == .none ? steady : hasty).keys()
            }
            apple.mode = mode
            let none = await #expect(throws: Problem.self) { try await keys.key("first") }
            #expect(none?.code == .unavailable)
            apple.mode = .none
            let learned = try await keys.key("first")
            #expect(learned != nil)
            apple.mode = mode
            let unknown = await #expect(throws: Problem.self) { try await keys.key("second") }
            #expect(unknown?.code == .unavailable)
            let known = try await keys.key("first")
            #expect(known != nil)
            try await apple.rotateKeys(to: "second")
            apple.mode = .none
            let second = try await keys.key("second")
            #expect(second != nil)
        }
    }

    /// Each call ends with an error, so that the outbox tries its task again.
    @Test(arguments: modes)
    func codesAndRevocationsAreTriedAgain(_ mode: FaultMode) async throws {
        try await withApple { apple, server in
            let secret = try #require(server.clientSecret)
            apple.mode = mode
            await #expect(throws: HTTPClientError.deadlineExceeded) {
                let code = AppleGrant(clientID: "com.example.app", kind: .authorizationCode, secret: "a")
                return try await server.exchange(code, secret: secret)
            }
            await #expect(throws: HTTPClientError.deadlineExceeded) {
                try await server.revoke(refreshToken: "a", clientID: "com.example.app", secret: secret)
            }
        }
    }
}
