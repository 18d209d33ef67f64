import Contracts
import Foundation
import Postgres
import Sealing
import ServiceKit
import TestKit
import Testing

@testable import IdentityService

extension ServiceTests {
    /// What is kept of a password when its user signs in and it was hashed otherwise than new ones are.
    @Suite struct PasswordRehashTests {
        /// What the service has for a pepper in these tests.
        private static let pepper = try! KeyRing("p1:\(Data(repeating: 1, count: 32).base64EncodedString())")

        private func stored(_ identity: Harness) async throws -> String {
            try await identity.database.query("SELECT hash FROM passwords")[0].decode(String.self)
        }

        private func keep(_ hash: String, in identity: Harness) async throws {
            try await identity.database.query("UPDATE passwords SET hash = \(hash)")
        }

        @Test func otherParametersComeWithTheNextSignIn() async throws {
            let settings = [
                "IDENTITY_HASHING_ITERATIONS": "3", "IDENTITY_HASHING_MEMORY": "20480",
                "IDENTITY_HASHING_PARALLELISM": "2",
            ]
            try await withIdentity(settings) { identity in
                _ = try await identity.register("ada@example.com")
                #expect(try await stored(identity).hasPrefix("$argon2id$v=19$m=20480,t=3,p=2,"))
                let former = PasswordHasher(threads: 1, queue: 1, pepper: Self.pepper)
                let old = try await former.hash(Password("tulpenzwiebel"), deadline: .after(.seconds(60)))
                try await former.stop()
                try await keep(old, in: identity)
                #expect(try await identity.login("ada@example.com", "tulpenzwiebe1").status == 401)
                #expect(try await stored(identity) == old)
                #expect(try await identity.login("ada@example.com").status == 200)
                let new = try await stored(identity)
                #expect(new.hasPrefix("$argon2id$v=19$m=20480,t=3,p=2,"))
                #expect(try await identity.login("ada@example.com").status == 200)
                #expect(try await stored(identity) == new)
            }
        }
    }
}
