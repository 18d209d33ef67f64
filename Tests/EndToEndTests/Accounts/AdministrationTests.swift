import Contracts
import Foundation
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
            try await journey.expectRefusedSoon(user.accessToken)
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

        @Test func aRoleThatIsGivenStandsInTheNextAccessToken() async throws {
            let boss = try await system.signInOperator()
            let user = try await journey.register()
            let change = AdminUpdateUserRequest(displayName: "Ada", role: "courier", storeIds: ["berlin"])
            let changed = try await send("PATCH", "/users/\(user.user.id)", as: boss, json: change)
            #expect(changed.status == 200, "\(changed.text)")
            let refreshed: AuthResponse = try await journey.refresh(user.refreshToken).decode()
            #expect(refreshed.user.role == "courier" && refreshed.user.storeIds == ["berlin"])
            #expect(refreshed.user.displayName == "Ada")
        }

        @Test func whoIsMadeByAnOperatorSignsInAndIsDeleted() async throws {
            let boss = try await system.signInOperator()
            let email = Journey.uniqueEmail()
            let made = try await send(
                "POST", "/users", as: boss,
                json: AdminCreateUserRequest(identifier: email, password: Journey.password, role: "courier"))
            #expect(made.status == 201, "\(made.text)")
            let login = LoginRequest(identifier: email, password: Journey.password)
            let session: AuthResponse = try await journey.api.call("POST", "/v1/auth/login", json: login).decode()
            #expect(session.user.role == "courier" && session.user.emailVerified)
            let id = session.user.id
            #expect(try await send("DELETE", "/users/\(id)", as: boss).status == 202)
            try await journey.expectRefusedSoon(session.accessToken)
            #expect(try await send("GET", "/users/\(id)", as: boss).status == 404)
            #expect(try await journey.api.call("POST", "/v1/auth/login", json: login).code == "INVALID_CREDENTIALS")
        }

        @Test func sessionsAndDevicesAreSeenAndSessionsEnd() async throws {
            let boss = try await system.signInOperator()
            let email = Journey.uniqueEmail()
            let first = try await journey.register(identifier: email)
            let login = LoginRequest(identifier: email, password: Journey.password)
            let second: AuthResponse = try await journey.api.call("POST", "/v1/auth/login", json: login).decode()
            let registration = journey.registration()
            let registered = try await journey.api.call(
                "POST", "/v1/devices/register", bearer: second.accessToken, json: registration)
            #expect(registered.status == 200)
            let path = "/users/\(first.user.id)"
            let devices = try await send("GET", path + "/devices", as: boss)
            #expect(try devices.decode(DeviceList.self).devices.count == 1)
            #expect(!devices.text.contains(registration.token))
            let sessions: SessionList = try await send("GET", path + "/sessions", as: boss).decode()
            #expect(sessions.sessions.count == 2)
            let own: SessionList = try await journey.api.call(
                "GET", "/v1/auth/sessions", bearer: first.accessToken
            ).decode()
            let firstID = try #require(own.sessions.first(where: \.current)?.id)
            #expect(try await send("DELETE", path + "/sessions/\(firstID)", as: boss).status == 204)
            try await journey.expectRefusedSoon(first.accessToken)
            #expect(try await journey.me(second.accessToken).status == 200)
            #expect(try await send("DELETE", path + "/sessions", as: boss).status == 204)
            try await journey.expectRefusedSoon(second.accessToken)
            #expect(try await journey.refresh(second.refreshToken).code == "INVALID_REFRESH_TOKEN")
        }

        @Test func nobodyElseGetsIn() async throws {
            let user = try await journey.register()
            for path in ["/users", "/users/\(user.user.id)", "/audit", "/figures"] {
                let refused = try await send("GET", path, as: user)
                #expect(refused.status == 403 && refused.code == "FORBIDDEN")
                #expect(try await journey.api.call("GET", "/v1/admin" + path).code == "INVALID_TOKEN")
                // What other systems use is reached by nobody from outside, whatever they show.
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

        @Test func anOperatorsOldProofChangesNothing() async throws {
            let boss = try await system.ageProof(of: system.signInOperator())
            let user = try await journey.register()
            #expect(try await send("GET", "/users/\(user.user.id)", as: boss).status == 200)
            for (method, path) in [("POST", "/disable"), ("DELETE", "/sessions"), ("DELETE", ""), ("PATCH", "")] {
                let refused = try await send(method, "/users/\(user.user.id)\(path)", as: boss)
                #expect(refused.code == "REAUTHENTICATION_REQUIRED", "\(refused.text)")
            }
            let proof = ReauthenticateRequest(password: Journey.password)
            #expect(
                try await journey.api.call(
                    "POST", "/v1/auth/reauthenticate", bearer: boss.accessToken, json: proof
                ).status == 204)
            let proved: AuthResponse = try await journey.refresh(boss.refreshToken).decode()
            #expect(try await send("POST", "/users/\(user.user.id)/disable", as: proved).status == 200)
        }

        @Test func aDemotedOperatorIsOutAtOnce() async throws {
            let boss = try await system.signInOperator()
            let other = try await system.signInOperator()
            #expect(try await send("GET", "/figures", as: other).status == 200)
            let id = other.user.id
            #expect(try await send("PATCH", "/users/\(boss.user.id)", as: boss, json: ["role": "user"]).status == 400)
            #expect(try await send("PATCH", "/users/\(id)", as: boss, json: ["role": "user"]).status == 200)
            // The access token says operator for a while yet.
            #expect(try await send("GET", "/figures", as: other).code == "FORBIDDEN")
        }

        @Test func anotherSystemNamesItsOperator() async throws {
            let user = try await journey.register()
            let id = user.user.id.uuidString.lowercased()
            try await system.withReplica(
                of: "identity", settings: ["IDENTITY_ADMIN_CREDENTIALS": "dev-helpdesk-1,dev-helpdesk-2"]
            ) { identity in
                try await identity.start()
                let api = TestHTTPClient(identity.url)
                for (credential, act) in [("dev-helpdesk-1", "disable"), ("dev-helpdesk-2", "enable")] {
                    let answer = try await api.send(
                        "POST", "/internal/admin/users/\(id)/\(act)",
                        headers: [HeaderName.credential: credential, HeaderName.operatorName: "grace"])
                    #expect(answer.status == 200, "\(answer.text)")
                }
                let audit: AdminAuditList = try await api.get(
                    "/internal/admin/audit?user=\(id)&limit=3", headers: [HeaderName.credential: "dev-helpdesk-1"]
                ).decode()
                // That the session has ended stands between them, or is not written yet.
                let entries = audit.entries.filter { $0.action != "session_revoked" }.prefix(2)
                #expect(entries.map(\.action) == ["enabled", "disabled"])
                #expect(entries.allSatisfy { $0.by.name == "admin: grace" })
                let figures: AdminFigures = try await api.get(
                    "/internal/admin/figures", headers: [HeaderName.credential: "dev-helpdesk-2"]
                ).decode()
                #expect(figures.users > 0 && figures.registrations.hour > 0)
            }
        }
    }
}
