import AccessToken
import Contracts
import Foundation
import GatehouseService
import TestKit
import Testing

@Suite("Access tokens by published keys")
struct PublishedKeyVerifierTests {
    private func run(_ body: (FakeTokens, PublishedKeyVerifier) async throws -> Void) async throws {
        try await FakeTokens.run { tokens, configuration, client in
            let verifier = PublishedKeyVerifier(configuration, httpClient: client, logger: .quiet)
            let running = Task { try await verifier.run() }
            defer { running.cancel() }
            try await body(tokens, verifier)
        }
    }

    private func runReady(_ body: (FakeTokens, PublishedKeyVerifier) async throws -> Void) async throws {
        try await run { tokens, verifier in
            tokens.answer { $0.keys = [FakeTokens.key.publicKey] }
            try await eventually("it is ready") { verifier.isReady }
            try await body(tokens, verifier)
        }
    }

    @Test("A good token tells of its user")
    func good() async throws {
        try await runReady { _, verifier in
            let (user, session) = (UUID(), UUID())
            let token = try FakeTokens.token {
                $0.subject = user
                $0.sessionID = session
                $0.authenticationTime = 1_800_000_000
                $0.authenticationMethods = ["pwd"]
            }
            let expected = ForwardedUser(
                id: user, sessionID: session, role: "courier", storeIDs: ["store-1"],
                authenticatedAt: Date(timeIntervalSince1970: 1_800_000_000), authenticationMethods: [.password])
            #expect(try await verifier.user(of: token, before: .after(.seconds(10))) == expected)
        }
    }

    @Test("Other tokens are refused")
    func refused() async throws {
        try await runReady { _, verifier in
            let good = try FakeTokens.token()
            for token in ["", "junk", "a.b.c", good + "A", String(repeating: "a", count: 100_000)] {
                #expect(await verifier.refusal(of: token) == .invalidToken, "\(token.prefix(20))")
            }
            let issuer = try FakeTokens.token { $0.issuer = "http://other.test" }
            #expect(await verifier.refusal(of: issuer) == .invalidToken)
            let audience = try FakeTokens.token { $0.audience = "other" }
            #expect(await verifier.refusal(of: audience) == .invalidToken)
            let old = try FakeTokens.token { ($0.issuedAt, $0.expiresAt) = (1_000_000, 1_000_100) }
            #expect(await verifier.refusal(of: old) == .tokenExpired)
        }
    }

    @Test("Nothing is known of any token before keys and feed were read")
    func notReady() async throws {
        try await run { tokens, verifier in
            tokens.answer { $0.revoked = nil }
            #expect(try await verifier.refusal(of: FakeTokens.token()) == .unavailable)
            tokens.answer { $0.keys = [FakeTokens.key.publicKey] }
            let junk = "a.b.c"
            try await eventually("there are keys") { await verifier.refusal(of: junk) == .invalidToken }
            #expect(try await verifier.refusal(of: FakeTokens.token()) == .unavailable && !verifier.isReady)
            tokens.answer { $0.revoked = [] }
            try await eventually("the feed is read") { verifier.isReady }
            #expect(try await verifier.refusal(of: FakeTokens.token()) == nil)
        }
    }

    @Test("A token ends with its session")
    func revoked() async throws {
        try await runReady { tokens, verifier in
            let session = UUID()
            let token = try FakeTokens.token { $0.sessionID = session }
            #expect(await verifier.refusal(of: token) == nil)
            tokens.answer { $0.revoked = [session] }
            try await eventually("the feed has told of it") { await verifier.refusal(of: token) == .invalidToken }
            #expect(try await verifier.refusal(of: FakeTokens.token()) == nil)
        }
    }

    @Test("A key that is not known yet is fetched; one that nobody published is refused")
    func unknownKey() async throws {
        try await runReady { tokens, verifier in
            let next = try RSAPrivateKey.generate()
            let token = try FakeTokens.token(key: next)
            tokens.answer { $0.keys = [FakeTokens.key.publicKey, next.publicKey] }
            // The client is asked to come again.
            #expect(await verifier.refusal(of: token) == .unavailable)
            try await eventually("the key is fetched") { await verifier.refusal(of: token) == nil }
            #expect(try await verifier.refusal(of: FakeTokens.token(key: .generate())) == .invalidToken)
        }
    }

    @Test("Keys and revocations that were read once are good while tokens is away")
    func outage() async throws {
        try await runReady { tokens, verifier in
            let session = UUID()
            let ended = try FakeTokens.token { $0.sessionID = session }
            tokens.answer { $0.revoked = [session] }
            try await eventually("the feed has told of it") { await verifier.refusal(of: ended) == .invalidToken }
            tokens.answer { ($0.keys, $0.revoked) = (nil, nil) }
            #expect(try await verifier.refusal(of: FakeTokens.token()) == nil)
            // Whose key it is cannot be found out.
            let unknown = try FakeTokens.token(key: .generate())
            #expect(await verifier.refusal(of: unknown) == .unavailable)
            #expect(await verifier.refusal(of: ended) == .invalidToken)
        }
    }
}
