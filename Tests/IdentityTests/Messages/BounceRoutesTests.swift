import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import TestKit
import Testing

@testable import IdentityService

extension AdministrationServiceTests {
    /// Mail that was taken and has come back.
    @Suite struct BounceRoutesTests {
        private static let settings = ["IDENTITY_BOUNCES_CREDENTIALS": "dev-bounces"]

        private func report(
            _ json: String, to identity: Harness, credential: String = "dev-bounces"
        ) async throws -> TestHTTPClient.Response {
            try await identity.send(
                .POST, "/internal/messages/bounces", json: json, headers: [HeaderName.credential: credential])
        }

        @Test func itIsNotedWithTheUserWhoHasTheIdentifier() async throws {
            try await withIdentity(Self.settings) { identity in
                let ada = try await identity.register("ada@example.com").user
                let known = try await report(
                    #"{"identifier":"Ada@Example.com","status":"5.1.1"}"#, to: identity)
                #expect(known.status == 204)
                #expect(try await report(#"{"identifier":"nobody@example.com"}"#, to: identity).status == 204)
                let entries = try await identity.database.query(
                    "SELECT user_id, actor, detail FROM audit_entries WHERE event = 'message_bounced'"
                ).decode((UUID, String, String?).self)
                #expect(entries.map(\.0) == [ada.id])
                #expect(entries.first?.1 == "system" && entries.first?.2 == "5.1.1")
            }
        }

        @Test func whatIsNoBounceIsRefused() async throws {
            try await withIdentity(Self.settings) { identity in
                for (json, field) in [
                    (#"{"identifier":"ada"}"#, "identifier"), (#"{}"#, "identifier"),
                    (#"{"identifier":"ada@example.com","status":"4.2.2"}"#, "status"),
                    (#"{"identifier":"ada@example.com","status":"5.1.1 <ada@example.com>"}"#, "status"),
                ] {
                    let answer = try await report(json, to: identity)
                    #expect(answer.code == "INVALID_REQUEST" && answer.text.contains(field), "\(answer.text)")
                }
                for credential in ["", "dev-wrong", Harness.gatewayCredential] {
                    let json = #"{"identifier":"ada@example.com"}"#
                    #expect(try await report(json, to: identity, credential: credential).status == 403)
                }
            }
        }
    }
}
