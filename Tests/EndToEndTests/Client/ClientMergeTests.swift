import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

@testable import GatehouseClient

extension SystemTests {
    /// Making one account of two, as the app's library does it.
    @Suite struct ClientMerging {
        private let messages = GatehouseSystem.current.messages

        @Test("The old password gives the old account back, and the session is that account's")
        func theOldPassword() async throws {
            let email = Journey.uniqueEmail()
            let old = try await ClientDevice().registered(email).me()
            let client = try ClientDevice().launch()
            let asked = try await client.requestCode(identifier: email)
            let new = try await client.signIn(
                identifier: email, code: messages.code(to: email), asked: asked)
            #expect(new.id != old.id && new.mergeableIdentifiers == [.email])
            await #expect {
                try await client.merge(with: .password("not the password at all"))
            } throws: {
                ($0 as? GatehouseError)?.kind == .invalidCredentials
            }
            let merged = try await client.merge(with: .password(Journey.password))
            #expect(merged.id == old.id && merged.email == email && merged.emailVerified)
            guard case .signedIn(let user) = await client.session.state else { throw TestKitError("signed out") }
            #expect(user == merged)
            #expect(try await client.me() == merged)
        }
    }
}
