import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

extension SystemTests {
    /// Sign in with Apple on the web: the code is Apple's only together with the address that it was asked for with.
    @Suite(.onlyInASystemOfItsOwn) struct AppleOnTheWeb {
        private let system = GatehouseSystem.current
        private var journey: Journey { system.journey }

        private static let page = "https://shop.example/apple"

        private func signIn(
            _ token: Journey.AppleSignInAnswer, redirectUri: String?
        ) async throws -> TestHTTPClient.Response {
            try await journey.api.call(
                "POST", "/v1/auth/apple",
                json: AppleSignInRequest(
                    identityToken: token.identityToken, authorizationCode: token.authorizationCode,
                    redirectUri: redirectUri))
        }

        /// Waits until nothing is to be asked of Apple any more.
        /// - Returns: whether a refresh token is kept for Apple's user.
        private func isGranted(_ sub: String) async throws -> Bool {
            try await eventually("the code is exchanged") {
                try await system.withDatabase(of: "identity") { database in
                    try await database.query("SELECT id FROM outbox WHERE destination = 'apple'").isEmpty
                }
            }
            return try await system.withDatabase(of: "identity") { database in
                try await !database.query(
                    "SELECT subject FROM apple_identities JOIN credentials ON id = credential_id WHERE subject = \(sub) AND refresh_token IS NOT NULL"
                ).isEmpty
            }
        }

        @Test func aCodeOfTheWebIsExchangedWithItsRedirectURI() async throws {
            let token = try await journey.appleToken(.init(audience: "com.example.web", redirectUri: Self.page))
            let answer = try await signIn(token, redirectUri: Self.page)
            try #require(answer.status == 200, "\(answer.text)")
            #expect(try await isGranted(token.sub))
            // So that the account's end is Apple's too.
            let session = try answer.decode(AuthResponse.self)
            let deleted = try await journey.api.call(
                "DELETE", "/v1/auth/account", bearer: session.accessToken, body: nil)
            #expect(deleted.status == 202, "\(deleted.text)")
            struct Log: Decodable {
                struct Entry: Decodable {
                    var path: String
                    var parameters: [String: String]
                }
                var entries: [Entry]
            }
            try await eventually("the consent is revoked at Apple") {
                try await system.apple.get("/simulator/log").decode(Log.self).entries.contains {
                    $0.path == "/auth/revoke" && $0.parameters["client_id"] == "com.example.web"
                }
            }
        }

        @Test(arguments: [
            "https://evil.example/apple", "https://shop.example/apple/", "https://shop.example/Apple",
            "https://shop.example/apple#x", "",
        ])
        func anUnknownRedirectURIIsRefused(redirectUri: String) async throws {
            let token = try await journey.appleToken(.init(audience: "com.example.web", redirectUri: redirectUri))
            let answer = try await signIn(token, redirectUri: redirectUri)
            #expect(answer.status == 400 && answer.code == "INVALID_REQUEST", "\(answer.text)")
            #expect(try answer.problem().errors?.map(\.field) == ["redirectUri"])
            let users = try await system.withDatabase(of: "identity") { database in
                try await database.query(
                    "SELECT subject FROM apple_identities JOIN credentials ON id = credential_id WHERE subject = \(token.sub)"
                ).count
            }
            #expect(users == 0)
        }
    }
}
