import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

extension SystemTests {
    /// What operators do, through the gateway, and other systems, at identity itself.
    @Suite struct Administration {
        let system = GatehouseSystem.current
        var journey: Journey { system.journey }

        private func send(
            _ method: String, _ path: String, as session: AuthResponse, json: (any Encodable & Sendable)? = nil
        ) async throws -> TestHTTPClient.Response {
            try await journey.api.call(method, "/v1/admin" + path, bearer: session.accessToken, json: json)
        }

        /// Finds a person, disables them, and sees it in the audit log.
        @Test func anOperatorFindsDisablesAndEnablesAUser() async throws {
            let boss = try await system.signInOperator()
            let email = Journey.uniqueEmail()
            let user = try await journey.register(identifier: email)
            let id = user.user.id.uuidString.lowercased()
            let found = try await send("GET", "/users?identifier=\(email.prefix(30))", as: boss)
            #expect(found.status == 200 && found.header("cache-control") == "no-store", "\(found.text)")
            let person = try #require(try found.decode(AdminUserList.self).users.first { $0.id == user.user.id })
            #expect(person.state == "active" && person.identifiers.first?.value == email)
            let disabled: AdminUser = try await send("POST", "/users/\(id)/disable", as: boss).decode()
            #expect(disabled.state == "disabled" && disabled.pending == nil)
            try await journey.expectRefused(user.accessToken)
            #expect(try await journey.refresh(user.refreshToken).code == "INVALID_REFRESH_TOKEN")
            let login = LoginRequest(identifier: email, password: Journey.password)
            #expect(try await journey.api.call("POST", "/v1/auth/login", json: login).code == "ACCOUNT_DISABLED")
            #expect(try await send("POST", "/users/\(id)/enable", as: boss).status == 200)
            #expect(try await journey.api.call("POST", "/v1/auth/login", json: login).status == 200)
            // That the session has ended is written a moment later, or not yet.
            let audit = try await send("GET", "/audit?user=\(id)", as: boss).decode(AdminAuditList.self).entries
                .filter { $0.action != "session_revoked" }
            #expect(audit.map(\.action) == ["signed_in", "enabled", "disabled", "signed_in", "registered"])
            let entry = try #require(audit.first { $0.action == "disabled" })
            #expect(entry.by.kind == "operator" && entry.by.id == boss.user.id.uuidString.lowercased())
            #expect(entry.address != nil)
        }

        @Test func onlyOperatorsHaveAccess() async throws {
            let user = try await journey.register()
            for path in ["/users", "/users/\(user.user.id)", "/audit", "/figures"] {
                let refused = try await send("GET", path, as: user)
                #expect(refused.status == 403 && refused.code == "FORBIDDEN")
                #expect(try await journey.api.call("GET", "/v1/admin" + path).code == "INVALID_TOKEN")
                // The routes of other systems are not reachable from outside, with any credential.
                for hidden in ["/internal/admin", "/v1/internal/admin", "/v1/admin/../../internal/admin"] {
                    let outside = try await journey.api.send(
                        "GET", hidden + path,
                        headers: [
                            "Gatehouse-Credential": system.settings["IDENTITY_ADMIN_CREDENTIALS"] ?? "",
                            "Authorization": "Bearer \(user.accessToken)",
                        ])
                    #expect([400, 404].contains(outside.status), "\(hidden)\(path)")
                }
            }
        }
    }
}
