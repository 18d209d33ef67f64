import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

extension SystemTests {
    /// What Apple tells of its users, signed by the simulator and posted through the gateway.
    @Suite struct AppleNotifications {
        private let system = GatehouseSystem.current
        private var journey: Journey { system.journey }

        private var now: Int { Int(Date.now.timeIntervalSince1970) }

        private func post(_ notification: AppleNotificationRequest) async throws -> TestHTTPClient.Response {
            try await journey.api.call("POST", "/v1/auth/apple/notifications", json: notification)
        }

        private func tell(_ event: Journey.AppleEvent) async throws {
            let told = try await post(journey.appleNotification(event))
            #expect(told.status == 200, "\(told.text)")
        }

        private func signIn(_ request: Journey.AppleSignIn = .init()) async throws -> (sub: String, AuthResponse) {
            let token = try await journey.appleToken(request)
            let session = try await journey.signInWithApple(AppleSignInRequest(identityToken: token.identityToken))
            return (token.sub, session)
        }

        /// Asks for a new password, and waits until the message is sent or not going to be.
        /// - Returns: how many messages were sent to the address so far.
        private func messages(afterForgetting address: String) async throws -> Int {
            let answer = try await journey.api.call(
                "POST", "/v1/auth/password/forgot", json: ForgotPasswordRequest(identifier: address))
            #expect(answer.status == 202, "\(answer.text)")
            try await eventually("no message waits") {
                try await system.withDatabase(of: "identity") { database in
                    try await database.query("SELECT id FROM outbox WHERE kind = 'password_reset'").isEmpty
                }
            }
            return system.mail.messages(to: address).count
        }

        @Test(arguments: [true, false])
        func noMailIsSentToARelayThatTheUserDisabled(isTold: Bool) async throws {
            let relay = "\(UUID().uuidString.lowercased())@privaterelay.appleid.com"
            let (sub, session) = try await signIn(.init(email: relay, emailVerified: true))
            #expect(try await messages(afterForgetting: relay) == 1)
            // Apple writes the address into the event; without one it is the address of the identity token.
            let address = isTold ? relay.uppercased() : nil
            let disabled = try await journey.appleNotification(
                .init(type: "email-disabled", sub: sub, email: address, eventTime: now - 120))
            for _ in 1...2 { #expect(try await post(disabled).status == 200) }
            #expect(try await messages(afterForgetting: relay) == 1)
            let exported = try await journey.api.call("GET", "/v1/auth/export", bearer: session.accessToken)
            #expect(try exported.decode(AccountExport.self).apple?.mailForwarding == false)

            try await tell(.init(type: "email-enabled", sub: sub, email: address, eventTime: now - 60))
            #expect(try await messages(afterForgetting: relay) == 2)
            // This one was decided before, and comes late; the other comes twice.
            try await tell(.init(type: "email-disabled", sub: sub, email: address, eventTime: now - 90))
            #expect(try await post(disabled).status == 200)
            #expect(try await messages(afterForgetting: relay) == 3)
            #expect(try await journey.me(session.accessToken).status == 200)
        }
    }
}
