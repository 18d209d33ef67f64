import AsyncHTTPClient
import Contracts
import Foundation
import NIOCore
import ServiceKit
import Synchronization
import TestKit
import Testing

@testable import IdentityService

/// Apple begins an answer and does not end it.
@Suite struct AppleStallTests {
    private func withApple(_ body: (FakeApple, AppleServer) async throws -> Void) async throws {
        let apple = try FakeApple()
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
                defer { apple.set(.none) }
                try await body(apple, server)
            }
        } catch {
            try await httpClient.shutdown()
            throw error
        }
        try await httpClient.shutdown()
    }

    /// The answer is `UNAVAILABLE`, known keys are used on, and the next fetch brings new ones.
    @Test(arguments: FakeApple.Mode.stalling)
    func keysAreFetchedAnew(_ mode: FakeApple.Mode) async throws {
        try await withApple { apple, patient in
            var server = patient
            // Fetches that end well take as long as the machine is slow.
            server.timeout = .seconds(60)
            let (steady, hasty) = (server, patient)
            // Keys that came of age would be fetched in the background, also across a change of what Apple does.
            let keys = AppleKeys(rules: .init(unknownKeyCooldown: .zero, retryInterval: .zero), logger: .quiet) {
                let isStalling = apple.state.withLock { FakeApple.Mode.stalling.contains($0.mode) }
                return try await (isStalling ? hasty : steady).keys()
            }
            apple.set(mode)
            let none = await #expect(throws: Problem.self) { try await keys.key("first") }
            #expect(none?.code == .unavailable)
            apple.set(.none)
            let learned = try await keys.key("first")
            #expect(learned != nil)
            apple.set(mode)
            let unknown = await #expect(throws: Problem.self) { try await keys.key("second") }
            #expect(unknown?.code == .unavailable)
            let known = try await keys.key("first")
            #expect(known != nil)
            apple.publish("first", "second")
            apple.set(.none)
            let second = try await keys.key("second")
            #expect(second != nil)
        }
    }

    /// Each call ends with an error, so that the outbox tries its task again.
    @Test(arguments: FakeApple.Mode.stalling)
    func codesAndRevocationsAreTriedAgain(_ mode: FakeApple.Mode) async throws {
        try await withApple { apple, server in
            let secret = try #require(server.clientSecret)
            apple.set(mode)
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
