import Contracts
import Foundation
import TestKit
import Testing

extension SystemTests {
    @Suite struct Sessions {
        let journey = Journey.current

        @Test func aUserSeesAndEndsTheirSessions() async throws {
            let identifier = Journey.uniqueEmail()
            let phone = try await journey.register(identifier: identifier, device: SessionDevice(name: "Phone"))
            let tablet = try await login(identifier, device: "Tablet")

            let listed = try await sessions(phone.accessToken)
            #expect(Set(listed.compactMap(\.device?.name)) == ["Phone", "Tablet"])
            let other = try #require(listed.first { !$0.current })
            let ended = try await journey.api.call(
                "DELETE", "/v1/auth/sessions/\(other.id)", bearer: phone.accessToken)
            #expect(ended.status == 204, "\(ended.text)")
            #expect(try await journey.refresh(tablet.refreshToken).code == "INVALID_REFRESH_TOKEN")
            #expect(try await sessions(phone.accessToken).map(\.current) == [true])
        }

        @Test func nobodyEndsSomebodyElsesSession() async throws {
            let victim = try await journey.register()
            let attacker = try await journey.register()
            let session = try #require(try await sessions(victim.accessToken).first)
            let answer = try await journey.api.call(
                "DELETE", "/v1/auth/sessions/\(session.id)", bearer: attacker.accessToken)
            #expect(answer.status == 404)
            #expect(try await journey.refresh(victim.refreshToken).status == 200)
        }

        @Test func logoutAllCanSpareTheCurrentSession() async throws {
            let identifier = Journey.uniqueEmail()
            let first = try await journey.register(identifier: identifier)
            let second = try await login(identifier, device: nil)
            let spared = try await journey.api.call(
                "POST", "/v1/auth/logout-all", bearer: second.accessToken, json: LogoutAllRequest(exceptCurrent: true))
            #expect(spared.status == 204, "\(spared.text)")
            #expect(try await journey.refresh(first.refreshToken).code == "INVALID_REFRESH_TOKEN")
            let kept = try await journey.refresh(second.refreshToken)
            #expect(kept.status == 200)

            let all = try await journey.api.call("POST", "/v1/auth/logout-all", bearer: second.accessToken, body: nil)
            #expect(all.status == 204, "\(all.text)")
            let successor = try kept.decode(AuthResponse.self).refreshToken
            #expect(try await journey.refresh(successor).code == "INVALID_REFRESH_TOKEN")
        }

        @Test func logoutTakesABearerAloneAndSaysWhatIsWrongWithABadOne() async throws {
            let session = try await journey.register()
            let nothing = try await journey.api.call("POST", "/v1/auth/logout", body: nil)
            #expect(nothing.status == 400)
            let bad = try await journey.api.call("POST", "/v1/auth/logout", bearer: "junk", body: nil)
            #expect(bad.code == "INVALID_TOKEN")
            let badButKnown = try await journey.api.call(
                "POST", "/v1/auth/logout", bearer: "junk", json: LogoutRequest(refreshToken: "ghrt_unknown"))
            #expect(badButKnown.status == 204)
            let good = try await journey.api.call("POST", "/v1/auth/logout", bearer: session.accessToken, body: nil)
            #expect(good.status == 204, "\(good.text)")
            #expect(try await journey.refresh(session.refreshToken).code == "INVALID_REFRESH_TOKEN")
        }

        private func login(_ identifier: String, device: String?) async throws -> AuthResponse {
            let answer = try await journey.api.call(
                "POST", "/v1/auth/login",
                json: LoginRequest(
                    identifier: identifier, password: Journey.password, device: device.map { SessionDevice(name: $0) }))
            try #require(answer.status == 200, "\(answer.text)")
            return try answer.decode(AuthResponse.self)
        }

        private func sessions(_ bearer: String) async throws -> [Session] {
            let answer = try await journey.api.call("GET", "/v1/auth/sessions", bearer: bearer)
            try #require(answer.status == 200, "\(answer.text)")
            return try answer.decode(SessionList.self).sessions
        }
    }
}
