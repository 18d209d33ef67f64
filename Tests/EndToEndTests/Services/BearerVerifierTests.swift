import AsyncHTTPClient
import Foundation
import GatehouseService
import GatehouseServiceContracts
import TestKit
import Testing

extension SystemTests {
    /// Services that clients reach without the gateway, with the real tokens.
    @Suite struct BearerVerifiers {
        let system = GatehouseSystem.current

        private func configuration() throws -> AccessTokenConfiguration {
            let settings = Settings(
                service: "shop",
                environment: [
                    "GATEHOUSE_ENVIRONMENT": "development", "GATEHOUSE_PATIENCE_MS": "20000",
                    "SHOP_TOKENS_URL": system.settings["GATEWAY_TOKENS_URL"] ?? "",
                    "SHOP_TOKENS_CREDENTIAL": system.settings["TOKENS_INTROSPECTION_CREDENTIALS"] ?? "",
                ])
            let configuration = AccessTokenConfiguration(settings: settings)
            try settings.finish(allowingUnknown: true)
            return configuration
        }

        private func withClient(_ body: (HTTPClient) async throws -> Void) async throws {
            let client = HTTPClient(configuration: .gatehouse())
            do {
                try await body(client)
            } catch {
                try? await client.shutdown()
                throw error
            }
            try await client.shutdown()
        }

        private func code(_ verifier: some BearerVerifier, _ token: String) async -> ErrorCode? {
            do {
                _ = try await verifier.user(of: token)
                return nil
            } catch {
                return error.code
            }
        }

        private func expectUser(of session: AuthResponse, by verifier: some BearerVerifier) async throws {
            let user = try await verifier.user(of: session.accessToken)
            #expect(user.id == session.user.id && user.role == session.user.role)
        }

        @Test func aServiceThatReadsTheFeedRefusesASignedOutSession() async throws {
            try await withClient { client in
                let verifier = PublishedKeyVerifier(try configuration(), httpClient: client, logger: .quiet)
                let running = Task { try await verifier.run() }
                defer { running.cancel() }
                let session = try await system.journey.register()
                try await eventually("it is ready") { verifier.isReady }
                try await expectUser(of: session, by: verifier)
                #expect(await code(verifier, session.refreshToken) == .invalidToken)

                let ended = try await system.gateway.call(
                    "POST", "/v1/auth/logout", json: LogoutRequest(refreshToken: session.refreshToken))
                #expect(ended.status == 204)
                try await eventually("the feed has told of it") {
                    await code(verifier, session.accessToken) == .invalidToken
                }
            }
        }

        @Test func introspectionRefusesASignedOutSessionAtOnce() async throws {
            try await withClient { client in
                let verifier = IntrospectionVerifier(try configuration(), httpClient: client, logger: .quiet)
                let session = try await system.journey.register()
                try await expectUser(of: session, by: verifier)
                for token in [session.refreshToken, "junk", ""] {
                    #expect(await code(verifier, token) == .invalidToken)
                }
                let ended = try await system.gateway.call(
                    "POST", "/v1/auth/logout", json: LogoutRequest(refreshToken: session.refreshToken))
                #expect(ended.status == 204)
                #expect(await code(verifier, session.accessToken) == .invalidToken)
            }
        }
    }
}
