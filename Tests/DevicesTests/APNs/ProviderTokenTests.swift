import Crypto
import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import Testing

@testable import DevicesService

/// Provider tokens: their form, and when they are renewed.
@Suite struct ProviderTokenTests {
    private static let minute = 60.0

    @Test("A token has Apple's header and claims, and a signature of the key")
    func tokensHaveApplesForm() throws {
        let key = P256.Signing.PrivateKey()
        let token = try ProviderToken.sign(
            team: TestAPNs.team, keyID: TestAPNs.keyID, key: key,
            issuedAt: Date(timeIntervalSince1970: 1_790_000_000.9))

        #expect(token.authorization.hasPrefix("bearer "))
        #expect(token.issuedAt == Date(timeIntervalSince1970: 1_790_000_000))
        let parts = token.authorization.dropFirst("bearer ".count).split(separator: ".")
        let decoded = try parts.map { try #require(Base64URL.decode(Array($0.utf8)[...])) }
        try #require(decoded.count == 3)
        #expect(String(decoding: decoded[0], as: UTF8.self) == #"{"alg":"ES256","kid":"KEY0123456"}"#)
        #expect(String(decoding: decoded[1], as: UTF8.self) == #"{"iss":"TEAM012345","iat":1790000000}"#)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: decoded[2])
        #expect(key.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
        #expect("\(token)" == "ProviderToken")
    }

    @Test(
        "The age decides whether a token is signed",
        arguments: [
            (nil, false, true), (nil, true, true), (0.0, false, false), (0.0, true, false), (29.9, true, false),
            (30.0, true, true), (30.0, false, false), (49.9, false, false), (50.0, false, true), (70.0, true, true),
            (-1.0, false, false), (-1.1, false, true), (-1.1, true, true),
        ] as [(Double?, Bool, Bool)])
    func agesDecide(minutes: Double?, isNewConnection: Bool, mustSign: Bool) {
        let age = minutes.map { $0 * Self.minute }
        #expect(ProviderTokenRules.mustSign(age: age, isNewConnection: isNewConnection) == mustSign)
    }

    @Test(
        "A refused token is replaced if it is old, or once in 20 minutes",
        arguments: [
            (19.0, nil, true), (19.0, 19.0, false), (19.0, 20.0, true), (20.0, 0.0, true), (60.0, 1.0, true),
            (0.0, -5.0, true), (0.0, 0.0, false),
        ] as [(Double, Double?, Bool)])
    func refusedTokens(age: Double, sinceForced: Double?, isReplaced: Bool) {
        #expect(
            ProviderTokenRules.mayReplaceRefused(
                age: age * Self.minute, sinceForced: sinceForced.map { $0 * Self.minute }) == isReplaced)
    }

    @Test("All connections share a token, which is renewed after 50 minutes, or after 30 for a new connection")
    func tokensAreShared() throws {
        let source = ProviderTokenSource(try TestAPNs.key())
        let clock = MovableDate()
        let first = try source.newest(isNewConnection: true, now: clock.now)
        clock.advance(minutes: 29)
        #expect(try source.newest(isNewConnection: true, now: clock.now).isSame(as: first))
        clock.advance(minutes: 20)
        #expect(try source.newest(isNewConnection: false, now: clock.now).isSame(as: first))
        clock.advance(minutes: 1)
        let second = try source.newest(isNewConnection: false, now: clock.now)
        #expect(!second.isSame(as: first))
        clock.advance(minutes: 30)
        #expect(try !source.newest(isNewConnection: true, now: clock.now).isSame(as: second))
    }

    @Test("A refused token is replaced once, however many connections were refused")
    func refusedTokensAreReplacedOnce() throws {
        let source = ProviderTokenSource(try TestAPNs.key())
        let clock = MovableDate()
        let refused = try source.newest(isNewConnection: true, now: clock.now)
        let replacement = try #require(try source.replacement(of: refused, now: clock.now))
        #expect(!replacement.isSame(as: refused))
        #expect(try #require(try source.replacement(of: refused, now: clock.now)).isSame(as: replacement))
        clock.advance(minutes: 19)
        #expect(try source.replacement(of: replacement, now: clock.now) == nil)
        clock.advance(minutes: 1)
        #expect(try #require(try source.replacement(of: replacement, now: clock.now)).isSame(as: replacement) == false)
    }

    // MARK: - One connection

    private static func token(_ text: String, issuedAt: Date) -> ProviderToken {
        ProviderToken(authorization: text, issuedAt: issuedAt)
    }

    private static func text(_ choice: ConnectionToken.Choice) -> String {
        switch choice {
        case .use(let token): token.authorization
        case .replaceConnection: "replace"
        }
    }

    @Test("A connection keeps its first token for 20 minutes, and each later one")
    func connectionsRenewSeldom() {
        let clock = MovableDate()
        let start = clock.now
        let tokens = ["a", "b", "c"].map { Self.token($0, issuedAt: start) }
        var connection = ConnectionToken()
        #expect(Self.text(connection.choose(newest: tokens[0], now: clock.now)) == "a")
        #expect(Self.text(connection.choose(newest: tokens[0], now: clock.now)) == "a")
        clock.advance(minutes: 19.9)
        #expect(Self.text(connection.choose(newest: tokens[1], now: clock.now)) == "a")
        clock.advance(minutes: 0.1)
        #expect(Self.text(connection.choose(newest: tokens[1], now: clock.now)) == "b")
        clock.advance(minutes: 19.9)
        #expect(Self.text(connection.choose(newest: tokens[2], now: clock.now)) == "b")
        clock.advance(minutes: 0.1)
        #expect(Self.text(connection.choose(newest: tokens[2], now: clock.now)) == "c")
    }

    @Test("A connection that may neither keep nor renew its token is replaced")
    func connectionsAreReplaced() {
        let clock = MovableDate()
        var connection = ConnectionToken()
        let old = Self.token("old", issuedAt: clock.now)
        clock.advance(minutes: 45)
        _ = connection.choose(newest: old, now: clock.now)
        clock.advance(minutes: 13.9)
        let new = Self.token("new", issuedAt: clock.now)
        #expect(Self.text(connection.choose(newest: new, now: clock.now)) == "old")
        clock.advance(minutes: 0.1)
        #expect(Self.text(connection.choose(newest: new, now: clock.now)) == "replace")
    }

    @Test("A refused token is replaced at once, but not twice within 20 minutes")
    func refusedTokensOfConnections() {
        let clock = MovableDate()
        let tokens = ["a", "b", "c"].map { Self.token($0, issuedAt: clock.now) }
        var connection = ConnectionToken()
        _ = connection.choose(newest: tokens[0], now: clock.now)
        #expect(connection.replaceRefused(by: tokens[1], now: clock.now) == true)
        #expect(connection.current?.authorization == "b")
        #expect(connection.replaceRefused(by: tokens[1], now: clock.now) == true)
        clock.advance(minutes: 19.9)
        #expect(connection.replaceRefused(by: tokens[2], now: clock.now) == false)
        #expect(connection.current?.authorization == "b")
        clock.advance(minutes: 0.1)
        #expect(connection.replaceRefused(by: tokens[2], now: clock.now) == true)
    }

    @Test("After TooManyProviderTokenUpdates a connection goes back to its token for 20 minutes")
    func refusedRenewals() {
        let clock = MovableDate()
        let start = clock.now
        let (a, b) = (Self.token("a", issuedAt: start), Self.token("b", issuedAt: start.addingTimeInterval(1200)))
        var connection = ConnectionToken()
        _ = connection.choose(newest: a, now: clock.now)
        clock.advance(minutes: 20)
        #expect(Self.text(connection.choose(newest: b, now: clock.now)) == "b")
        connection.refuseRenewals(now: clock.now)
        #expect(Self.text(connection.choose(newest: b, now: clock.now)) == "a")
        clock.advance(minutes: 19.9)
        #expect(Self.text(connection.choose(newest: b, now: clock.now)) == "a")
        #expect(connection.replaceRefused(by: b, now: clock.now) == false)
        clock.advance(minutes: 0.1)
        #expect(Self.text(connection.choose(newest: b, now: clock.now)) == "b")
    }
}
