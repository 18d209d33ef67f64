import Foundation
import GatehouseServiceContracts
import Postgres
import Sealing
import TestKit
import Testing

@testable import IdentityCredentials

extension AccountServiceTests {
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
                let old = try await former.hash(Password("tulpenzwiebel"))
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

        /// A hash of each system that users come from, as the import keeps it, and one of ours without a pepper.
        @Test func hashesOfOtherSystemsBecomeOurs() async throws {
            let prefixes = [
                "$2b$", "$scrypt$ln=14", "$pbkdf2-sha256$6400", "pbkdf2_sha256", "$firebase", "$fbscrypt", "{bcrypt}",
                "pbkdf2:", "scrypt:", "AQAAAAE", "$pbkdf2-sha1$i=1300000", "$argon2i$v=19",
            ]
            let unpeppered = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
            let foreign = try prefixes.map { prefix in
                try #require(ForeignHashTests.published.first { $0.text.hasPrefix(prefix) })
            }
            let files = try TemporaryFiles()
            defer { files.remove() }
            let key = try files.write(ForeignHashingTests.signerKey + "\n")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
            try await withIdentity(["IDENTITY_FIREBASE_SIGNER_KEY_FILE": key]) { identity in
                _ = try await identity.register("ada@example.com")
                for (hash, password) in foreign + [(unpeppered, "password")] {
                    try await keep(hash, in: identity)
                    let refused = try await identity.login("ada@example.com", "not this one")
                    #expect(refused.code == "INVALID_CREDENTIALS", "\(hash)")
                    #expect(try await stored(identity) == hash)
                    #expect(try await identity.login("ada@example.com", password).status == 200, "\(hash)")
                    let kept = try await stored(identity)
                    #expect(kept.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1,keyid="), "\(hash)")
                    #expect(try await identity.login("ada@example.com", password).status == 200, "\(hash)")
                    #expect(try await stored(identity) == kept)
                    #expect(try await identity.login("ada@example.com", "not this one").status == 401, "\(hash)")
                }
            }
        }

        /// bcrypt reads 72 bytes of a password. The rest is unknown: if it came into a new hash, a user who signs in
        /// with another end would lock the owner out.
        @Test func aHashOfAPartOfThePasswordStays() async throws {
            // Of 72 letters a, by bcrypt 5.0.0 of PyPI.
            let hash = "$2b$04$8ZYXIFGWR5gl02sFSzW6ee8ryt.FpK1ZbVXSna2F08PssUgjpQ1c2"
            let read = String(repeating: "a", count: 72)
            try await withIdentity { identity in
                _ = try await identity.register("ada@example.com")
                for text in [hash, "{bcrypt}" + hash] {
                    try await keep(text, in: identity)
                    for end in ["the owner's", "another", "é"] {
                        #expect(try await identity.login("ada@example.com", read + end).status == 200, "\(end)")
                        #expect(try await stored(identity) == text)
                    }
                    #expect(try await identity.login("ada@example.com", read).status == 200)
                    #expect(try await stored(identity).hasPrefix("$argon2id$"))
                    #expect(try await identity.login("ada@example.com", read + "another").status == 401)
                }
            }
        }

        /// Keyboards type é as one code point or as two, and the former system hashed either.
        @Test func aForeignHashIsComparedInBothNormalForms() async throws {
            // Of "café crème" as two code points, and as one, by bcrypt 5.0.0 of PyPI; of the first by Argon2id.
            let decomposed = "$2b$04$/w7N9ZgzRkOPedA/suoS8e2KH.mpfi2jpHpFJ2Fey/xwjwaP0Zw/i"
            let composed = "$2b$04$X6EEdysexyF6rZTrtR.oletA4RU6na7o89Lxiop457Is7d7LHGFSe"
            let salt = Array("of some system".utf8)
            let made = try #require(
                Argon2.hash(Array("cafe\u{301} cre\u{300}me".utf8), salt: salt, parameters: .floor, length: 32))
            let unpeppered = PasswordHash(parameters: .floor, pepperID: nil, salt: salt, hash: made).phcString
            try await withIdentity { identity in
                _ = try await identity.register("ada@example.com")
                for hash in [decomposed, composed, unpeppered] {
                    for typed in ["caf\u{E9} cr\u{E8}me", "cafe\u{301} cre\u{300}me"] {
                        try await keep(hash, in: identity)
                        #expect(try await identity.login("ada@example.com", "cafe creme").status == 401)
                        #expect(try await identity.login("ada@example.com", typed).status == 200, "\(hash) \(typed)")
                        #expect(try await stored(identity).hasPrefix("$argon2id$v=19$m=19456,t=2,p=1,keyid="))
                        #expect(try await identity.login("ada@example.com", typed).status == 200)
                    }
                }
            }
        }

        /// A text that the service cannot verify is no password, not even the hash of one.
        @Test func anUnreadableHashOpensNothing() async throws {
            try await withIdentity { identity in
                _ = try await identity.register("ada@example.com")
                for hash in ["", "tulpenzwiebel", "$2b$31$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe"] {
                    try await keep(hash, in: identity)
                    #expect(try await identity.login("ada@example.com").code == "INVALID_CREDENTIALS")
                    #expect(try await stored(identity) == hash)
                }
            }
        }
    }
}
