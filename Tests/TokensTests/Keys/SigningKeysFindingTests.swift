import AccessToken
import Foundation
import ServiceKit
import Testing

@testable import TokensService

@Suite struct SigningKeysFindingTests {
    private let begin = Date(timeIntervalSince1970: 1_800_000_000)
    private let day: TimeInterval = 86_400

    private func severities(_ keys: SigningKeys, after days: Double) -> [Finding.Severity] {
        keys.findings(at: begin + days * day, accessTokenLifetime: 3600).map(\.severity)
    }

    @Test func aReplacementThatWasBegunIsNotForgotten() throws {
        var keys = SigningKeys(first: TokensFixture.signingKey, isForDevelopment: true)
        #expect(severities(keys, after: 0) == [.fine])
        try keys.add(next: RSAPrivateKey.generate(), at: begin)
        #expect(severities(keys, after: 0.5) == [.fine, .fine])
        #expect(severities(keys, after: 2) == [.fine, .warning], "nobody has gone on with it")
        try keys.rotate(at: begin, force: true)
        #expect(severities(keys, after: 0.5) == [.fine, .fine])
        #expect(severities(keys, after: 2) == [.fine, .warning], "the old key is still published")
        _ = keys.retire(at: begin + day, accessTokenLifetime: 3600)
        #expect(severities(keys, after: 2) == [.fine])
        #expect(severities(keys, after: 400) == [.warning], "the key is more than a year old")
    }
}
