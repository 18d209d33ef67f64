import Foundation
import GatehouseAccessTokens
import GatehouseServiceKit
import Testing

@testable import TokensService

@Suite struct SigningKeysTests {
    private let now = Date(timeIntervalSince1970: 1_795_176_000)

    /// Made once, since making a key takes a tenth of a second.
    private static let samples = try! (0..<3).map { _ in try RSAPrivateKey.generate() }

    private func keys() -> SigningKeys { SigningKeys(first: Self.samples[0], isForDevelopment: false) }

    @Test func aKeyIsPublishedThenSignsThenRetires() throws {
        var keys = keys()
        let first = keys.active.publicKey
        let second = Self.samples[1]
        try keys.add(next: second, at: now)
        #expect(keys.active.publicKey == first)
        #expect(Set(keys.published.map(\.thumbprint)) == [first.thumbprint, second.publicKey.thumbprint])
        #expect(throws: SigningKeysError.self) { try keys.add(next: Self.samples[2], at: now) }

        #expect(throws: SigningKeysError.self) { try keys.rotate(at: now + 599) }
        #expect(keys.active.publicKey == first, "a refused rotation changes nothing")
        try keys.rotate(at: now + 600)
        #expect(keys.active.publicKey == second.publicKey)
        #expect(keys.published.count == 2)
        #expect(throws: SigningKeysError.self, "there is no next key") { try keys.rotate(at: now + 9999) }

        let rotated = now + 600
        #expect(keys.retire(at: rotated + 3659, accessTokenLifetime: 3600).isEmpty)
        #expect(keys.retire(at: rotated + 3660, accessTokenLifetime: 3600).map(\.key.publicKey) == [first])
        #expect(keys.entries.map(\.state) == [.active])
        #expect(keys.retire(at: .distantFuture, accessTokenLifetime: 0).isEmpty, "the active key never retires")
    }

    /// The lifetime was shortened meanwhile, or `retire` does not know it.
    @Test func theLifetimeAtTheRotationCountsToo() throws {
        for (noted, given, needed) in [(7200, 60, 7200), (60, 7200, 7200), (nil, 60, 60)] {
            var keys = keys()
            try keys.add(next: Self.samples[1], at: now)
            try keys.rotate(at: now + 600, accessTokenLifetime: noted)
            var read = try SigningKeys(text: keys.text)
            #expect(read.text == keys.text)
            let end = now + 600 + Double(needed) + 60
            #expect(read.retire(at: end - 1, accessTokenLifetime: given).isEmpty)
            #expect(read.retire(at: end, accessTokenLifetime: given).count == 1)
        }
    }

    @Test func theWaitsCanBeSet() throws {
        var keys = keys()
        try keys.add(next: Self.samples[1], at: now)
        #expect(throws: SigningKeysError.self) { try keys.rotate(at: now + 2, publicationTime: 3) }
        try keys.rotate(at: now + 3, publicationTime: 3)
        #expect(keys.retire(at: now + 15, accessTokenLifetime: 10, noticeTime: 3).isEmpty)
        #expect(keys.retire(at: now + 16, accessTokenLifetime: 10, noticeTime: 3).count == 1)
    }

    @Test func aHurriedRotationIsForced() throws {
        var keys = keys()
        let next = Self.samples[1]
        try keys.add(next: next, at: now)
        try keys.rotate(at: now, force: true)
        #expect(keys.active.publicKey == next.publicKey)
    }

    @Test func textIsReadBack() throws {
        var keys = keys()
        try keys.add(next: Self.samples[1], at: now)
        try keys.rotate(at: now + 600)
        try keys.add(next: Self.samples[2], at: now + 700)
        let read = try SigningKeys(text: keys.text)
        #expect(read.entries.map(\.state) == [.active, .retiring, .next])
        #expect(read.entries.map(\.since) == [now + 600, now + 600, now + 700])
        #expect(read.published == keys.published)
        #expect(read.text == keys.text)
        #expect(!read.isForDevelopment)
        let marked = try SigningKeys(text: "# development\n" + keys.text)
        #expect(marked.isForDevelopment && marked.text.hasPrefix("# development\n"))
    }

    @Test func aPlainPEMFileIsOneActiveKey() throws {
        let key = Self.samples[0]
        for text in [key.pem, "# development\n" + key.pem, "Bag Attributes\n" + key.pem + "\n\n"] {
            #expect(try SigningKeys(text: text).active.publicKey == key.publicKey)
        }
    }

    @Test func whatIsNoSetOfKeysIsRefused() throws {
        let (first, second) = (Self.samples[0].pem, Self.samples[1].pem)
        let texts = [
            "", "junk", first + second, "# next\n" + first, first + first,
            "# active since 2026-11-20T12:00:00Z lifetime long\n" + first, "# next\n" + first + "# next\n" + second,
            String(first.prefix(400)), first + "# retiring\n" + first,
            first + "# next\n-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            try Self.samples[2].publicKey.pem,
        ]
        for text in texts {
            #expect(throws: SigningKeysError.self, "\(text.prefix(40))") { try SigningKeys(text: text) }
        }
    }

    @Test func aReplacementThatWasBegunIsNotForgotten() throws {
        var keys = keys()
        func severities(afterDays days: Double) -> [Finding.Severity] {
            keys.findings(at: now + days * 86_400, accessTokenLifetime: 3600).map(\.severity)
        }
        #expect(severities(afterDays: 0) == [.fine])
        try keys.add(next: Self.samples[1], at: now)
        #expect(severities(afterDays: 0.5) == [.fine, .fine])
        #expect(severities(afterDays: 2) == [.fine, .warning], "the operator has not gone on with it")
        try keys.rotate(at: now, force: true)
        #expect(severities(afterDays: 0.5) == [.fine, .fine])
        #expect(severities(afterDays: 2) == [.fine, .warning], "the old key is still published")
        _ = keys.retire(at: now + 86_400, accessTokenLifetime: 3600)
        #expect(severities(afterDays: 2) == [.fine])
        #expect(severities(afterDays: 400) == [.warning], "the key is more than a year old")
    }
}
