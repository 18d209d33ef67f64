import Foundation
import GatehouseAccessTokens
import GatehouseServiceContracts
import TestKit
import Testing

@testable import TokensService

extension ServiceTests {
    @Suite struct WellKnownRouteTests {
        @Test func theKeysVerifyWhatWasSigned() async throws {
            try await RunningTokens.with { tokens in
                let session = try await tokens.signIn()
                let path = "/.well-known/jwks.json"
                let response = try await tokens.client.get(path)
                let keys = try VerificationKeySet(jwks: Array(response.body))
                let verifier = try AccessTokenVerifier(
                    issuer: "http://gatehouse.localhost", audience: "gatehouse", keys: keys)
                let now = Int64(session.auth.expiresAt.timeIntervalSince1970) - 60
                #expect(try verifier.verify(session.auth.accessToken, now: now).sessionID == session.sessionID)

                #expect(response.header("Cache-Control") == "public, max-age=300")
                let tag = try #require(response.header("ETag"))
                for known in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
                    let again = try await tokens.client.get(path, headers: ["If-None-Match": known])
                    #expect(again.status == 304)
                    #expect(again.body.isEmpty)
                }
                #expect(try await tokens.client.get(path, headers: ["If-None-Match": "\"other\""]).status == 200)
                let head = try await tokens.client.send("HEAD", path)
                #expect(head.status == 200 && head.body.isEmpty && head.header("ETag") == tag)
                #expect(head.header("Content-Length") == "\(response.body.count)")
                #expect(try await tokens.client.send("POST", path).header("Allow") == "GET, HEAD")
            }
        }

        @Test func theMetadataNamesTheEndpoints() async throws {
            try await RunningTokens.with { tokens in
                let response = try await tokens.client.get("/.well-known/oauth-authorization-server")
                let metadata = try #require(try JSONSerialization.jsonObject(with: response.body) as? [String: Any])
                #expect(metadata["issuer"] as? String == "http://gatehouse.localhost")
                #expect(metadata["token_endpoint"] as? String == "http://gatehouse.localhost/oauth/token")
                #expect(metadata["jwks_uri"] as? String == "http://gatehouse.localhost/.well-known/jwks.json")
                #expect(metadata["grant_types_supported"] as? [String] == ["refresh_token"])
                #expect(metadata["revocation_endpoint"] as? String == "http://gatehouse.localhost/oauth/revoke")
                #expect(metadata["response_types_supported"] as? [String] == ["none"])
                #expect(metadata["token_endpoint_auth_methods_supported"] as? [String] == ["none"])
                // The document is for clients, which cannot reach introspection.
                #expect(metadata["introspection_endpoint"] == nil)
                #expect(response.header("Cache-Control") == "public, max-age=300")
                let tag = try #require(response.header("ETag"))
                let again = try await tokens.client.get(
                    "/.well-known/oauth-authorization-server", headers: ["If-None-Match": tag])
                #expect(again.status == 304)
            }
        }
    }
}
