import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

extension SystemTests {
    /// OAuth's doors, as others than Gatehouse's own client use them.
    @Suite struct StandardDoors {
        let journey = Journey.current

        /// Discovery, refresh, a retry, revocation: Authlib does it all by itself.
        @Test func aStockLibraryRefreshesAndRevokes() async throws {
            struct Outcome: Decodable { var accessTokens: [String] }
            let first = try await journey.register()
            let second = try await journey.register()
            let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "authlib_client.py")
            let output = FileManager.default.temporaryDirectory.appending(path: "authlib-\(UUID().uuidString).log")
            defer { try? FileManager.default.removeItem(at: output) }
            let arguments = [script.path, Journey.gatewayURL.absoluteString]
            let status = try await TestProcess(
                "/usr/bin/python3", arguments + [first.refreshToken, second.refreshToken], output: output
            ).waitForExit()
            let printed = try String(contentsOf: output, encoding: .utf8)
            try #require(status == 0, "\(printed)")
            let outcome = try JSONDecoder().decode(Outcome.self, from: Data(printed.utf8))
            try #require(outcome.accessTokens.count == 2)
            for token in outcome.accessTokens { try await journey.expectRefused(token) }
        }

        @Test(.onlyInASystemOfItsOwn) func tokensAnswersIntrospectionAndTheGatewayDoesNot() async throws {
            let system = GatehouseSystem.current
            let session = try await journey.register()
            let secret = try #require(system.settings["TOKENS_INTROSPECTION_CREDENTIALS"])
            let headers = [
                "Authorization": "Basic " + Data("introspection:\(secret)".utf8).base64EncodedString(),
                "Content-Type": "application/x-www-form-urlencoded",
            ]
            let body = Data("token=\(session.accessToken)".utf8)
            for tokens in system.tokensReplicas {
                let answer = try await tokens.call("POST", "/internal/oauth/introspect", headers: headers, body: body)
                #expect(answer.status == 200)
                #expect(answer.text.contains(#""active":true"#))
            }
            for path in ["/internal/oauth/introspect", "/oauth/introspect", "/api/internal/oauth/introspect"] {
                let answer = try await system.gateway.call("POST", path, headers: headers, body: body)
                #expect(answer.code == "NOT_FOUND", "\(path): \(answer.status)")
            }
        }
    }
}
