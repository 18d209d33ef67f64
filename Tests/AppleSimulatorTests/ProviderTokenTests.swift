import Crypto
import Foundation
import GatehouseBytes
import Testing

@testable import AppleSimulator

/// The provider tokens of one connection to APNs.
@Suite struct ProviderTokenTests {
    private static let now = 1_800_000_000
    private let provider = TestProvider()

    /// The reason of the refusal.
    private func refusal(
        _ authorization: String?, by machine: inout ProviderTokenMachine, of provider: TestProvider? = nil,
        after time: Int = 0
    ) -> String? {
        let result = machine.verify(authorization, now: Self.now + time, key: (provider ?? self.provider).find)
        return if case .failure(let refusal) = result { refusal.answer.body?.reason } else { nil }
    }

    @Test("A token: its form, algorithm, signature and age are verified")
    func verification() throws {
        var machine = ProviderTokenMachine()
        let valid = try provider.authorization(issuedAt: Self.now)
        let refused: [(String?, String)] = [
            (nil, "MissingProviderToken"), ("Basic x", "MissingProviderToken"),
            ("bearer nonsense", "InvalidProviderToken"), (String(valid.dropLast(4)), "InvalidProviderToken"),
            (try TestProvider().authorization(issuedAt: Self.now), "InvalidProviderToken"),
            (try provider.authorization(issuedAt: Self.now, algorithm: "HS256"), "InvalidProviderToken"),
            (try provider.authorization(issuedAt: Self.now + 61), "InvalidProviderToken"),
            (try provider.authorization(issuedAt: Self.now - 3_601), "ExpiredProviderToken"),
        ]
        for (authorization, reason) in refused {
            #expect(refusal(authorization, by: &machine) == reason)
            #expect(!machine.isAuthenticated)
        }
        #expect(refusal(valid, by: &machine) == nil && machine.isAuthenticated)
        #expect(refusal(valid, by: &machine, after: 3_600) == nil)
        #expect(refusal(valid, by: &machine, after: 3_601) == "ExpiredProviderToken")
    }

    @Test("A token less than 20 minutes newer: the renewal is refused, and the former token stays valid")
    func renewal() throws {
        var machine = ProviderTokenMachine()
        let first = try provider.authorization(issuedAt: Self.now)
        #expect(refusal(first, by: &machine) == nil)
        let early = try provider.authorization(issuedAt: Self.now + 1_199)
        #expect(refusal(early, by: &machine, after: 1_199) == "TooManyProviderTokenUpdates")
        #expect(refusal(first, by: &machine, after: 1_199) == nil)
        let renewed = try provider.authorization(issuedAt: Self.now + 1_200)
        #expect(refusal(renewed, by: &machine, after: 1_200) == nil)
        #expect(refusal(first, by: &machine, after: 1_200) == "TooManyProviderTokenUpdates")
    }

    @Test("Another team or key on the same connection: the token is refused")
    func unrelatedKeys() throws {
        var machine = ProviderTokenMachine()
        #expect(refusal(try provider.authorization(issuedAt: Self.now), by: &machine) == nil)
        for (team, key) in [("TEAM654321", provider.keyIdentifier), (provider.team, "KEY7654321")] {
            var other = TestProvider()
            (other.team, other.keyIdentifier) = (team, key)
            let token = try other.authorization(issuedAt: Self.now + 2_000)
            #expect(refusal(token, by: &machine, of: other, after: 2_000) == "UnrelatedKeyIdInToken")
        }
    }
}

/// A team that signs provider tokens.
private struct TestProvider {
    let key = P256.Signing.PrivateKey()
    var team = "TEAM123456"
    var keyIdentifier = "KEY1234567"

    func authorization(issuedAt: Int, algorithm: String = "ES256") throws -> String {
        let input = [#"{"alg":"\#(algorithm)","kid":"\#(keyIdentifier)"}"#, #"{"iss":"\#(team)","iat":\#(issuedAt)}"#]
            .map { Base64URL.string($0.utf8) }.joined(separator: ".")
        let signature = try key.signature(for: Data(input.utf8)).rawRepresentation
        return "bearer \(input).\(Base64URL.string(signature))"
    }

    /// The keys that APNs knows.
    func find(_ team: String, _ identifier: String) -> ProviderKey? {
        guard team == self.team, identifier == keyIdentifier else { return nil }
        return try? ProviderKey(pem: key.publicKey.pemRepresentation)
    }
}
