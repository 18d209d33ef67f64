import Foundation
import GatehouseServiceContracts
import TestKit
import Testing

extension SystemTests {
    /// Hashes of other systems, imported by the command and used through the gateway.
    @Suite(.onlyInASystemOfItsOwn) struct PasswordHashing {
        let system = GatehouseSystem.current

        /// The README of Firebase's scrypt has this key and its user's hash below.
        private static let signerKey =
            "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="

        /// Hashes and their passwords, with and without a key. Identity's `PasswordRehashTests` have each format.
        private static let foreign = [
            ("$2b$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe", "a"),
            (
                "$firebase-scrypt$ln=14,r=8,sep=Bw$42xEC+ixf3L2lw$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAj"
                    + "Tdn3aoItz+VHjoZilo78198JAdRuid5lQ", "user1password"
            ),
        ]

        @Test func usersOfOtherSystemsKeepTheirPasswords() async throws {
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
                    let login = try await api.call(
                        "POST", "/v1/auth/login", json: LoginRequest(identifier: user.email, password: user.password))
                    try #require(login.status == 200, "\(user.hash): \(login.text)")
                    #expect(try login.decode(AuthResponse.self).user.id == user.id)
                }
            }
        }
    }
}
