import Contracts
import Foundation
import TestKit
import Testing

extension SystemTests {
    /// How passwords are hashed and which are refused, by the built programs and through the gateway.
    @Suite(.onlyInASystemOfItsOwn, .serialized) struct PasswordHashing {
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

        @Test func otherParametersComeWithTheNextSignIn() async throws {
            let email = Journey.uniqueEmail()
            let user = try await system.journey.register(identifier: email).user.id
            #expect(try await system.passwordHash(of: user).hasPrefix("$argon2id$v=19$m=19456,t=2,p=1,"))
            let settings = ["IDENTITY_HASHING_MEMORY": "20480", "IDENTITY_HASHING_ITERATIONS": "3"]
            try await system.withIdentity(settings: settings) { gateway, _ in
                let api = TestHTTPClient(gateway.url)
                #expect(try await login(api, email, Journey.password).status == 200)
                let kept = try await system.passwordHash(of: user)
                #expect(kept.hasPrefix("$argon2id$v=19$m=20480,t=3,p=1,"), "\(kept)")
                #expect(try await login(api, email, Journey.password).status == 200)
            }
        }

        @Test func breachedPasswordsAreRefusedWhereverOneIsChosen() async throws {
            let files = try TemporaryFiles()
            defer { files.remove() }
            // SHA-1 of "known from a breach", as Have I Been Pwned writes it, and of another password.
            let list = try files.write(
                "DF35047FFFD38A65B8FE6963579254E8B09DB25E:12\r\n\(Self.breachedDigest):7\r\n")
            let filter = try files.write("")
            try await system.process("identity").run(["passwords", "filter", "build", list, "--output", filter])
            let settings = ["IDENTITY_BREACHED_PASSWORDS_FILE": filter]
            try await system.withIdentity(settings: settings) { gateway, _ in
                let journey = system.journey(through: gateway)
                let refused = try await journey.api.call(
                    "POST", "/v1/auth/register",
                    json: RegisterRequest(identifier: Journey.uniqueEmail(), password: Self.breached))
                #expect(refused.status == 422 && refused.code == "WEAK_PASSWORD", "\(refused.text)")
                #expect(try refused.problem().errors?.map(\.field) == ["password"])
                let session = try await journey.register()
                let change = ChangePasswordRequest(currentPassword: Journey.password, newPassword: Self.breached)
                let kept = try await journey.api.call(
                    "POST", "/v1/auth/password", bearer: session.accessToken, json: change)
                #expect(kept.code == "WEAK_PASSWORD", "\(kept.text)")
                _ = try await journey.api.call(
                    "POST", "/v1/auth/password/forgot",
                    json: ForgotPasswordRequest(identifier: session.user.email ?? ""))
                var sent: PasswordResetMessage?
                try await eventually("a message is sent") {
                    sent = system.mail.messages(to: session.user.email ?? "").last
                    return sent != nil
                }
                let token = try #require(sent?.token)
                let reset = try await journey.api.call(
                    "POST", "/v1/auth/password/reset",
                    json: ResetPasswordRequest(token: token, newPassword: Self.breached))
                #expect(reset.code == "WEAK_PASSWORD", "\(reset.text)")
            }
            // Without a list nobody knows of it, and what is built in is refused all the same.
            for (password, status) in [(Self.breached, 201), ("password1", 422)] {
                let answer = try await system.journey.api.call(
                    "POST", "/v1/auth/register",
                    json: RegisterRequest(identifier: Journey.uniqueEmail(), password: password))
                #expect(answer.status == status, "\(answer.text)")
            }
        }

        private static let breached = "known from a breach"
        private static let breachedDigest = "6FBDE9B815E1D1A533B48E96FFE0912365CC0E78"
    }
}
