import Contracts
import Foundation
import TestKit
import Testing

extension SystemTests {
    /// Hashes of other systems, imported by the command and used through the gateway.
    @Suite(.onlyInASystemOfItsOwn) struct PasswordHashing {
        let system = GatehouseSystem.current

        private func login(
            _ api: TestHTTPClient, _ identifier: String, _ password: String
        ) async throws -> TestHTTPClient.Response {
            try await api.call(
                "POST", "/v1/auth/login", json: LoginRequest(identifier: identifier, password: password))
        }

        /// The README of Firebase's scrypt has this key and its user's hash below.
        private static let signerKey =
            "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="

        /// A hash of each system that users come from, from the formats' own documents, and the password it is of.
        private static let foreign = [
            ("$2b$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe", "a"),
            (
                "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUk"
                    + "Kpr55h6F3A1lHkDfzwF7RVdYhw", "pleaseletmein"
            ),
            ("$pbkdf2-sha256$6400$.6UI/S.nXIk8jcbdHx3Fhg$98jZicV16ODfEsEZeYPGHU3kbrUrvUEXOPimVSQDD44", "password"),
            (
                "$firebase-scrypt$ln=14,r=8,sep=Bw$42xEC+ixf3L2lw$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAj"
                    + "Tdn3aoItz+VHjoZilo78198JAdRuid5lQ", "user1password"
            ),
            ("$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA", "password"),
            // Ours, but without a pepper.
            ("$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc", "password"),
        ]

        @Test func usersOfOtherSystemsComeWithTheirPasswords() async throws {
            let users = Self.foreign.map { hash, password in
                (id: UUID(), email: Journey.uniqueEmail(), hash: hash, password: password)
            }
            let lines = users.map { user in
                #"{"id":"\#(user.id)","email":"\#(user.email)","passwordHash":"\#(user.hash)"}"#
            }
            let files = try TemporaryFiles()
            defer { files.remove() }
            let list = try files.write(lines.joined(separator: "\n") + "\n")
            let settings = ["IDENTITY_FIREBASE_SIGNER_KEY_FILE": try files.write(Self.signerKey + "\n")]
            // Firebase's are refused by who could not verify them.
            await #expect(throws: TestKitError.self) {
                try await system.process("identity").run(["users", "import", list, "--dry-run"])
            }
            try await system.withIdentity(settings: settings) { gateway, identity in
                let printed = try await identity.run(["users", "import", list])
                #expect(printed.contains("\"created\":\(users.count)"), "\(printed)")
                let api = TestHTTPClient(gateway.url)
                for user in users {
                    #expect(try await login(api, user.email, "not the password").code == "INVALID_CREDENTIALS")
                    #expect(try await system.passwordHash(of: user.id) == user.hash)
                    let first = try await login(api, user.email, user.password)
                    try #require(first.status == 200, "\(user.hash): \(first.text)")
                    #expect(try first.decode(AuthResponse.self).user.id == user.id)
                    let kept = try await system.passwordHash(of: user.id)
                    #expect(kept.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1,keyid="), "\(kept)")
                    #expect(try await login(api, user.email, user.password).status == 200)
                    #expect(try await system.passwordHash(of: user.id) == kept)
                    #expect(try await login(api, user.email, "not the password").code == "INVALID_CREDENTIALS")
                }
            }
        }
    }
}
