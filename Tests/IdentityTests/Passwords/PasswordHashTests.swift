import Foundation
import Testing

@testable import IdentityService

@Suite struct PasswordHashTests {
    static let text =
        "$argon2id$v=19$m=19456,t=2,p=1,keyid=cDE$AQIDBAUGBwgJCgsMDQ4PEA$AQIDBAUGBwgJCgsMDQ4PEAECAwQFBgcICQoLDA0ODxA"

    @Test func readsWhatItWrites() throws {
        let hash = try #require(PasswordHash(Self.text))
        #expect(hash.phcString == Self.text)
        #expect(hash.pepperID == "p1")
        #expect(hash.parameters == .floor)
        #expect(hash.salt == Array(1...16))
        #expect(hash.hash.count == 32)
        let plain = Self.text.replacingOccurrences(of: ",keyid=cDE", with: "")
        #expect(PasswordHash(plain)?.phcString == plain)
    }

    @Test(
        arguments: [
            ("argon2id", "argon2i"), ("v=19", "v=16"), ("v=19$", ""), ("m=19456", "m=4000000000"),
            ("m=19456", "m=131073"), ("m=19456", "m=7"), ("m=19456", "m=-1"), ("t=2", "t=11"), ("t=2", "t=0"),
            ("p=1", "p=0"), ("p=1", "p=5"), ("p=1", "p=1,p=1"), ("p=1", "p=1,data=AA"), ("p=1", "p"), ("m=19456,", ""),
            ("keyid=cDE", "keyid=cDE="), ("AQIDBAUGBwgJCgsMDQ4PEA$", "$"), ("AQIDBAUGBwgJCgsMDQ4PEA$", "AQID$"),
            ("ODxA", "ODx"), ("ODxA", "ODxA$"), ("$argon2id", "x$argon2id"), ("AQID", "AQ ID"),
        ])
    func refusesWhatItCannotTrust(part: String, replacement: String) {
        #expect(PasswordHash(Self.text.replacingOccurrences(of: part, with: replacement)) == nil)
    }

    /// A vector from the reference implementation's own tests (`src/test.c`).
    @Test func agreesWithTheReferenceImplementation() {
        let parameters = Argon2Parameters(memory: 65536, iterations: 2, parallelism: 1)
        let hash = Argon2.hash(Array("password".utf8), salt: Array("somesalt".utf8), parameters: parameters, length: 32)
        let hex = hash?.map { String(format: "%02x", $0) }.joined()
        #expect(hex == "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7")
    }
}
