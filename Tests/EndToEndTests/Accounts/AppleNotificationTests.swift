import Contracts
import Foundation
import Postgres
import TestKit
import Testing

extension SystemTests {
    /// What Apple tells of its users, signed by the simulator and posted through the gateway.
    @Suite struct AppleNotifications {
        private let system = GatehouseSystem.current
        private var journey: Journey { system.journey }

        private static let anHour = 3600
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
        func noMailGoesWhereTheUserWantsNone(isTold: Bool) async throws {
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

        @Test(arguments: [true, false])
        func consentThatIsWithdrawnTwiceEndsSessionsOnce(asObject: Bool) async throws {
            let (sub, session) = try await signIn()
            let notification = try await journey.appleNotification(
                .init(type: "consent-revoked", sub: sub, eventsAsObject: asObject))
            #expect(try await post(notification).status == 200)
            try await eventually("the session has ended") {
                try await journey.refresh(session.refreshToken).code == "INVALID_REFRESH_TOKEN"
            }
            let (_, again) = try await signIn(.init(sub: sub))
            #expect(again.user.id == session.user.id)
            #expect(try await post(notification).status == 200)
            #expect(try await journey.refresh(again.refreshToken).status == 200)
        }

        @Test(arguments: ["account-delete", "account-deleted"])
        func whoLosesTheAppleAccountIsUnlinkedOrGone(type: String) async throws {
            // With a password beside it the account stays.
            let registered = try await journey.register()
            let token = try await journey.appleToken()
            let linked = try await journey.api.call(
                "POST", "/v1/auth/identities/apple", bearer: registered.accessToken,
                json: LinkAppleRequest(identityToken: token.identityToken))
            #expect(linked.status == 200, "\(linked.text)")
            try await tell(.init(type: type, sub: token.sub))
            let me = try await journey.me(registered.accessToken)
            #expect(try me.decode(User.self).authProviders == [.password], "\(me.text)")

            // Without another way in it is deleted.
            let (sub, session) = try await signIn()
            let notification = try await journey.appleNotification(.init(type: type, sub: sub))
            for _ in 1...2 { #expect(try await post(notification).status == 200) }
            try await journey.expectRefusedSoon(session.accessToken)
            try await eventually("the account is gone") {
                try await system.withDatabase(of: "identity") { database in
                    try await database.query("SELECT id FROM users WHERE id = \(session.user.id)").isEmpty
                }
            }
            let (_, anew) = try await signIn(.init(sub: sub))
            #expect(anew.user.id != session.user.id)
            #expect(try await post(notification).status == 200)
            #expect(try await journey.me(anew.accessToken).status == 200)
        }

        /// It tells of an hour ago, and the user has signed in with Apple since.
        @Test(arguments: ["consent-revoked", "account-delete", "account-deleted"])
        func aLateNotificationSparesWhatCameAfter(type: String) async throws {
            let (sub, session) = try await signIn()
            try await tell(.init(type: type, sub: sub, eventTime: now - Self.anHour))
            #expect(try await journey.refresh(session.refreshToken).status == 200)
            #expect(try await signIn(.init(sub: sub)).1.user.id == session.user.id)
        }

        @Test func nothingElseCounts() async throws {
            let (sub, session) = try await signIn()
            let genuine = try await journey.appleNotification(.init(type: "consent-revoked", sub: sub)).payload
            let deletion = try await journey.appleNotification(.init(type: "account-delete", sub: sub)).payload
            let foreign = try await journey.appleNotification(
                .init(type: "account-delete", sub: sub, audience: "com.example.other")
            ).payload
            let (parts, other) = (genuine.split(separator: "."), deletion.split(separator: "."))
            // An identity token is Apple's too, and no notification.
            let token = try await journey.appleToken(.init(sub: sub)).identityToken
            for payload in [foreign, "\(parts[0]).\(other[1]).\(parts[2])", "\(parts[0]).\(parts[1]).", token, "x", ""]
            {
                let answer = try await post(AppleNotificationRequest(payload: payload))
                #expect(answer.status == 401 && answer.code == "INVALID_APPLE_TOKEN", "\(answer.text)")
            }
            for body in ["", "payload", #"{"payload": 1}"#, "{}"] {
                let answer = try await journey.api.call(
                    "POST", "/v1/auth/apple/notifications", headers: ["Content-Type": "application/json"],
                    body: Data(body.utf8))
                #expect(answer.status == 400, "\(answer.text)")
            }
            // Nobody here, and an event that Apple may add some day: Apple need not send them again.
            try await tell(.init(type: "consent-revoked", sub: "000000.nobody.0000"))
            try await tell(.init(type: "name-changed", sub: sub))
            #expect(try await journey.refresh(session.refreshToken).status == 200)
        }
    }
}
