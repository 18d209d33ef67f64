import AsyncHTTPClient
import Contracts
import Foundation
import GatehouseService
import TestKit
import Testing

extension SystemTests {
    /// Services that the gateway does not stand before, with the real tokens.
    @Suite struct AccessTokenJudges {
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

        private func code(_ judge: some AccessTokenJudge, _ token: String) async -> ErrorCode? {
            do {
                _ = try await judge.user(of: token, before: .after(.seconds(10)))
                return nil
            } catch {
                return error.code
            }
        }

        private func expectUser(of session: AuthResponse, by judge: some AccessTokenJudge) async throws {
            let user = try await judge.user(of: session.accessToken, before: .after(.seconds(10)))
            #expect(user.id == session.user.id && user.role == session.user.role)
        }

        @Test func aSignedOutSessionIsRefusedByWhoFollowsTheFeed() async throws {
            try await withClient { client in
                let judge = PublishedKeyJudge(try configuration(), httpClient: client, logger: .quiet)
                let running = Task { try await judge.run() }
                defer { running.cancel() }
                let session = try await system.journey.register()
                try await eventually("it is ready") { judge.isReady }
                try await expectUser(of: session, by: judge)
                #expect(await code(judge, session.refreshToken) == .invalidToken)

                let ended = try await system.gateway.call(
                    "POST", "/v1/auth/logout", json: LogoutRequest(refreshToken: session.refreshToken))
                #expect(ended.status == 204)
                try await eventually("the feed has told of it") {
                    await code(judge, session.accessToken) == .invalidToken
                }
            }
        }

        @Test func aSignedOutSessionIsRefusedByIntrospectionAtOnce() async throws {
            try await withClient { client in
                let judge = IntrospectionJudge(try configuration(), httpClient: client, logger: .quiet)
                let session = try await system.journey.register()
                try await expectUser(of: session, by: judge)
                for token in [session.refreshToken, "junk", ""] {
                    #expect(await code(judge, token) == .invalidToken)
                }
                let ended = try await system.gateway.call(
                    "POST", "/v1/auth/logout", json: LogoutRequest(refreshToken: session.refreshToken))
                #expect(ended.status == 204)
                #expect(await code(judge, session.accessToken) == .invalidToken)
            }
        }
    }
}
