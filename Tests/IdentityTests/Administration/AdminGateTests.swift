import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import TestKit
import Testing

@testable import IdentityCore

extension AdministrationServiceTests {
    /// Who gets in to administer users.
    @Suite struct AdminGateTests {
        /// Each route, and whether it changes something.
        private static func routes(_ id: String) -> [(HTTPMethod, String, String?, Bool)] {
            [
                (.GET, "/users", nil, false), (.POST, "/users", #"{"identifier":"a@example.com"}"#, true),
                (.GET, "/users/\(id)", nil, false), (.PATCH, "/users/\(id)", #"{"displayName":"Ada"}"#, true),
                (.POST, "/users/\(id)/disable", nil, true), (.POST, "/users/\(id)/enable", nil, true),
                (.GET, "/users/\(id)/sessions", nil, false), (.DELETE, "/users/\(id)/sessions", nil, true),
                (.DELETE, "/users/\(id)/sessions/\(UUID())", nil, true), (.GET, "/users/\(id)/devices", nil, false),
                (.PUT, "/users/\(id)/identifiers/email", #"{"identifier":"a@example.com"}"#, true),
                (.DELETE, "/users/\(id)/identifiers/email", nil, true),
                (.POST, "/users/\(id)/identifiers/email/move", #"{"to":"\#(id)"}"#, true),
                (.GET, "/users/\(id)/undelivered-pushes", nil, false), (.POST, "/test-pushes", "{}", false),
                (.GET, "/test-pushes/\(UUID())", nil, false),
                (.GET, "/audit", nil, false), (.GET, "/figures", nil, false), (.DELETE, "/users/\(id)", nil, true),
            ]
        }

        @Test func onlyOperatorsGetIn() async throws {
            try await withOperator { admin in
                let user = try await admin.identity.register("ada@example.com").user.id
                for (method, path, json, _) in Self.routes(user.path) {
                    // By the token, and by what is kept.
                    for (id, role) in [(user, "user"), (user, "operator"), (admin.operatorID, "user")] {
                        let refused = try await admin.identity.send(
                            method, "/v1/admin" + path, as: id, role: role, json: json)
                        #expect(refused.status == 403 && refused.code == "FORBIDDEN", "\(method) \(path)")
                    }
                    let nobody = try await admin.identity.send(method, "/v1/admin" + path, json: json)
                    #expect(nobody.status == 401)
                }
                #expect(try await admin.identity.login("ada@example.com").status == 200)
            }
        }

        /// However long the access token lives.
        @Test func whoHasLostTheRoleOrIsDisabledGetsInNoMore() async throws {
            try await withOperator { admin in
                #expect(try await admin.send(.GET, "/figures").status == 200)
                let (id, database) = (admin.operatorID, admin.identity.database)
                for change in ["role = 'user'", "role = 'operator', state = 'disabled'"] {
                    try await database.query("UPDATE users SET \(unescaped: change) WHERE id = \(id)")
                    #expect(try await admin.send(.GET, "/figures").code == "FORBIDDEN")
                }
                try await database.query("DELETE FROM users WHERE id = \(id)")
                #expect(try await admin.send(.GET, "/figures").code == "FORBIDDEN")
            }
        }

        @Test func changesNeedARecentProof() async throws {
            try await withOperator { admin in
                let user = try await admin.identity.register("ada@example.com").user.id
                for (method, path, json, isChange) in Self.routes(user.path) {
                    for age in [nil, 700] {
                        let answer = try await admin.send(method, path, age: age, json: json)
                        let isRefused = answer.code == "REAUTHENTICATION_REQUIRED"
                        #expect(isRefused == isChange, "\(method) \(path): \(answer.text)")
                        #expect(answer.header("cache-control") == "no-store")
                    }
                }
                #expect(try await admin.identity.login("ada@example.com").status == 200)
            }
        }

        @Test func aTeamNamesItsOwnRole() async throws {
            try await withOperator(["IDENTITY_OPERATOR_ROLE": "support"]) { admin in
                #expect(try await admin.send(.GET, "/figures").code == "FORBIDDEN")
                try await admin.identity.database.query(
                    "UPDATE users SET role = 'support' WHERE id = \(admin.operatorID)")
                #expect(try await admin.send(.GET, "/figures").code == "FORBIDDEN", "the token says operator")
                let allowed = try await admin.identity.send(
                    .GET, "/v1/admin/figures", as: admin.operatorID, role: "support")
                #expect(allowed.status == 200)
            }
        }

        @Test func otherSystemsShowACredentialOfTheirOwn() async throws {
            try await withOperator { admin in
                for credential in AdminHarness.credentials {
                    #expect(try await admin.ask(.GET, "/figures", credential: credential).status == 200)
                }
                for credential in ["", "dev-admin-three", Harness.gatewayCredential] {
                    #expect(try await admin.ask(.GET, "/figures", credential: credential).code == "FORBIDDEN")
                }
                // The credential opens no public route, and the gateway's opens none of these.
                let door = try await admin.identity.send(
                    .GET, "/v1/admin/figures", headers: [HeaderName.credential: AdminHarness.credentials[0]])
                #expect(door.status == 401)
            }
            try await withOperator(["IDENTITY_ADMIN_CREDENTIALS": ""]) { admin in
                for credential in [nil, ""] {
                    let refused = try await admin.ask(.GET, "/figures", credential: credential)
                    #expect(refused.code == "FORBIDDEN")
                }
            }
        }

        @Test func anOperatorLocksNobodyOutByMistake() async throws {
            try await withOperator { admin in
                let own = "/users/\(admin.operatorID.path)"
                for (method, path, json) in [
                    (HTTPMethod.POST, own + "/disable", nil), (.DELETE, own, nil), (.PATCH, own, #"{"role":"user"}"#),
                ] {
                    let refused = try await admin.send(method, path, json: json)
                    #expect(refused.status == 400 && refused.text.contains("another operator"), "\(refused.text)")
                }
                let same = try await admin.send(.PATCH, own, json: #"{"displayName":"Me","role":"operator"}"#)
                #expect(same.status == 200)
                // Another may.
                #expect(try await admin.ask(.PATCH, own, json: #"{"role":"user"}"#).status == 200)
                #expect(try await admin.send(.GET, "/figures").code == "FORBIDDEN")
            }
        }
    }
}
