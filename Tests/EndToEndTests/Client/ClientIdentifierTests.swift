import Foundation
import GatehouseServiceContracts
import Postgres
import TestKit
import Testing

@testable import GatehouseClient

extension SystemTests {
    /// Changing an address, undoing that, and authenticating again by a code, as the app's library does it.
    @Suite struct ClientIdentifiers {
        private let system = GatehouseSystem.current
        private var messages: MessageFiles { system.messages }

        private func signedIn(_ email: String) async throws -> GatehouseClient {
            let client = try ClientDevice().launch()
            let asked = try await client.requestCode(identifier: email)
            try await client.signIn(identifier: email, code: messages.code(to: email), asked: asked)
            return client
        }

        @Test("An address is changed after authentication by a code, and the former one undoes it")
        func changingAndUndoing() async throws {
            let (old, new) = (Journey.uniqueEmail(), Journey.uniqueEmail())
            let client = try await signedIn(old)
            let id = try await client.me().id
            try await system.withDatabase(of: "tokens") { database in
                try await database.query(
                    """
                    UPDATE sessions SET authenticated_at = authenticated_at - interval '1 day' WHERE user_id = \(id)
                    """)
            }
            _ = try await client.session.renewedAccessToken()
            let asked = try await client.requestCode(identifier: new, purpose: .verify)
            let code = try await messages.code(to: new)
            client.setReauthenticationHandler { [unowned client, messages] _ in
                let stepUp = try await client.requestCode(identifier: old, purpose: .stepUp)
                return .code(try await messages.code(2, to: old), identifier: old, asked: stepUp)
            }
            let user = try await client.changeIdentifier(.email, to: new, code: code, asked: asked)
            #expect(user.email == new && user.emailVerified && user.id == id)
            let notice = try await messages.message(3, to: old)
            let token = String(try #require(notice.firstMatch(of: /ghiu_[A-Za-z0-9_-]+/)).0)
            let other = try ClientDevice().launch()
            try await other.undoIdentifierChange(token: token)
            await #expect {
                try await other.undoIdentifierChange(token: token)
            } throws: {
                ($0 as? GatehouseError)?.kind == .invalidInput
            }
            try await eventually("the session has ended") {
                do { _ = try await client.session.renewedAccessToken() } catch { return true }
                return false
            }
        }

        @Test("A number is added, and the address removed, but not both")
        func removing() async throws {
            let (email, phone) = (Journey.uniqueEmail(), Journey.uniquePhone())
            let client = try await signedIn(email)
            await #expect {
                try await client.removeIdentifier(.email)
            } throws: {
                ($0 as? GatehouseError)?.kind == .forbidden
            }
            let asked = try await client.requestCode(identifier: phone, purpose: .verify)
            let added = try await client.changeIdentifier(
                .phone, to: phone, code: messages.code(to: phone), asked: asked)
            #expect(added.phone == phone && added.email == email)
            let removed = try await client.removeIdentifier(.email)
            #expect(removed.email == nil && removed.phone == phone)
        }
    }
}
