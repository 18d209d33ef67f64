import Foundation
import GatehouseServiceContracts
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
