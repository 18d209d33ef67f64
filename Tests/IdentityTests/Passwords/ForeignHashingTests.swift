import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import Sealing
import Testing

@testable import IdentityCredentials

@Suite struct ForeignHashingTests {
    /// From the README of Firebase's scrypt, as its hash in ``ForeignHashTests/published``.
    static let signerKey = "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="

    private static func hashing() -> ForeignHashing {
        ForeignHashing(firebaseSignerKey: Data(base64Encoded: signerKey).map(Array.init))
    }

    @Test(arguments: ForeignHashTests.published)
    func theRightPasswordAndNoOther(text: String, password: String) throws {
        let hash = try #require(ForeignHash(text))
        #expect(try Self.hashing().compare(Password(password), hash) == .right)
        for other in [password + "x", password.uppercased() + "x", String(password.dropFirst()) + "ß"] {
            #expect(try Self.hashing().compare(Password(other), hash) == .wrong, "\(other)")
        }
    }

    /// Most others hash what was typed: here the ligature stays one.
    @Test func whatWasTypedIsHashed() throws {
        let typed = "cafe\u{301} ﬁn"
        let made = try #require(
            OpenSSLDerivation.pbkdf2(
                Array(typed.utf8), salt: Array("salt".utf8), digest: .sha256, iterations: 10, length: 32))
        let text = "$pbkdf2-sha256$i=10$c2FsdA$\(PHCString.base64(made))"
        let hash = try #require(ForeignHash(text))
        #expect(try Self.hashing().compare(Password(typed), hash) == .right)
        #expect(try Self.hashing().compare(Password("café fin"), hash) == .wrong)
    }

    @Test func aPasswordDoesNotEndAtANul() throws {
        let hash = try #require(ForeignHash("$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe"))
        #expect(try Self.hashing().compare(Password("a\0"), hash) == .wrong)
    }

    /// HMAC fills a short key with zeros, so they may follow the password without another result.
    @Test func zerosAfterThePasswordMayBeAnything() throws {
        for prefix in ["pbkdf2_sha256", "$scrypt$ln=14", "$firebase"] {
            let (text, password) = try #require(ForeignHashTests.published.first { $0.text.hasPrefix(prefix) })
            let hash = try #require(ForeignHash(text))
            #expect(try Self.hashing().compare(Password(password + "\0"), hash) == .rightInPart, "\(prefix)")
        }
    }

    @Test func withoutFirebasesKeyNobodyIsToldThatTheyAreWrong() throws {
        let text = try #require(ForeignHashTests.published.first { $0.text.hasPrefix("$firebase") })
        let hash = try #require(ForeignHash(text.text))
        let error = #expect(throws: ForeignHashing.NoSignerKey.self) {
            try ForeignHashing().compare(Password(text.password), hash)
        }
        #expect(error?.problem.code == .unavailable)
    }
}
