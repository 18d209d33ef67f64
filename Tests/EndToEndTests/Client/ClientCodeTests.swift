import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

@testable import GatehouseClient

extension SystemTests {
    /// Codes, as the app's library asks for them and shows them.
    @Suite struct ClientCodes {
        private let messages = GatehouseSystem.current.messages

        @Test("Signing in with a code registers, and comes back to the same user")
        func signingIn() async throws {
            let device = ClientDevice()
            let email = Journey.uniqueEmail()
            let client = try device.launch()
            let asked = try await client.requestCode(identifier: email)
            #expect(asked.resendAfter == 30)
            let code = try await messages.code(to: email)
            let wrong = code == "000000" ? "000001" : "000000"
            await #expect {
                try await client.signIn(identifier: email, code: wrong, asked: asked)
            } throws: {
                ($0 as? GatehouseError)?.kind == .invalidCredentials
            }
            let user = try await client.signIn(identifier: email, code: code, asked: asked)
            #expect(user.email == email && user.emailVerified)
            #expect(try await client.me() == user)
            #expect(device.telemetry.count(.loginSuccess) == 1 && device.telemetry.count(.loginFailure) == 1)
            // The sign-in has made the device known, which waits apart from its network.
            _ = try await client.requestCode(identifier: email)
            await #expect {
                _ = try await client.requestCode(identifier: email)
            } throws: {
                ($0 as? GatehouseError)?.kind == .rateLimited
            }
        }

        @Test("An address is verified in a session, and the session knows it")
        func verifying() async throws {
            let email = Journey.uniqueEmail()
            let client = try await ClientDevice().registered(email)
            #expect(try await !client.me().emailVerified)
            let asked = try await client.requestCode(identifier: email, purpose: .verify)
            let code = try await messages.code(to: email)
            #expect(try await client.verify(identifier: email, code: code, asked: asked).emailVerified)
            guard case .signedIn(let user) = await client.session.state else { throw TestKitError("signed out") }
            #expect(user.emailVerified)
        }
    }
}
