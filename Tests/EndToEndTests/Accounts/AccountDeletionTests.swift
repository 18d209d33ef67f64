import Contracts
import Foundation
import Postgres
import TestKit
import Testing

extension SystemTests {
    @Suite struct AccountDeletion {
        let system = GatehouseSystem.current
        var journey: Journey { system.journey }

        @Test func leavesNoRowAboutTheUser() async throws {
            let email = Journey.uniqueEmail()
            let apple = try await journey.appleToken(.init(email: email, emailVerified: true))
            let session = try await journey.signInWithApple(
                AppleSignInRequest(
                    identityToken: apple.identityToken, authorizationCode: apple.authorizationCode,
                    fullName: .init(givenName: "Grace", familyName: "Hopper")))
            let device = try await journey.api.call(
                "POST", "/v1/devices/register", bearer: session.accessToken, json: journey.registration())
            try #require(device.status == 200, "\(device.text)")
            let user = session.user.id.uuidString.lowercased()
            for database in system.databases.values {
                #expect(try await GatehouseSystem.rows(mentioning: [user], in: database) > 0)
            }

            let deleted = try await journey.api.call("DELETE", "/v1/auth/account", bearer: session.accessToken)
            #expect(deleted.status == 202, "\(deleted.text)")
            #expect(try await journey.refresh(session.refreshToken).code == "INVALID_REFRESH_TOKEN")

            for (name, database) in system.databases {
                try await eventually("no row in \(name)") {
                    try await GatehouseSystem.rows(mentioning: [user, email, apple.sub, "Hopper"], in: database) == 0
                }
            }
            try await eventually("Apple's token is revoked") {
                try await system.apple.call("GET", "/simulator/log", body: nil).text.contains("/auth/revoke")
            }
        }
    }
}
