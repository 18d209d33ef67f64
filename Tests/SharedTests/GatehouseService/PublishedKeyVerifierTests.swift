import Foundation
import GatehouseAccessTokens
import GatehouseService
import GatehouseServiceContracts
import TestKit
import Testing

@Suite("Access tokens by published keys")
struct PublishedKeyVerifierTests {
    private func run(_ body: (TeamTokens, PublishedKeyVerifier) async throws -> Void) async throws {
        try await TeamTokens.run { tokens, configuration, client in
            let verifier = PublishedKeyVerifier(configuration, httpClient: client, logger: .quiet)
            let running = Task { try await verifier.run() }
            defer { running.cancel() }
            try await body(tokens, verifier)
        }
    }

    private func runReady(_ body: (TeamTokens, PublishedKeyVerifier) async throws -> Void) async throws {
        try await run { tokens, verifier in
            tokens.answer { $0.keys = [TeamTokens.key.publicKey] }
            try await eventually("it is ready") { verifier.isReady }
            try await body(tokens, verifier)
        }
    }

    @Test("A good token tells of its user")
    func good() async throws {
        try await runReady { _, verifier in
            let (user, session) = (UUID(), UUID())
            let token = try TeamTokens.token {
                $0.subject = user
                $0.sessionID = session
                $0.authenticationTime = 1_800_000_000
                $0.authenticationMethods = ["pwd"]
            }
            let expected = ForwardedUser(
                id: user, sessionID: session, role: "courier", storeIDs: ["store-1"],
                authenticatedAt: Date(timeIntervalSince1970: 1_800_000_000), authenticationMethods: [.password])
            #expect(try await verifier.user(of: token) == expected)
        }
    }

    @Test("Other tokens are refused")
    func refused() async throws {
        try await runReady { _, verifier in
            let good = try TeamTokens.token()
            for token in ["", "junk", "a.b.c", good + "A", String(repeating: "a", count: 100_000)] {
                #expect(await verifier.refusal(of: token) == .invalidToken, "\(token.prefix(20))")
            }
            #expect(
                try await verifier.refusal(of: TeamTokens.token { $0.issuer = "http://other.test" }) == .invalidToken)
            #expect(try await verifier.refusal(of: TeamTokens.token { $0.audience = "other" }) == .invalidToken)
            let old = try TeamTokens.token { ($0.issuedAt, $0.expiresAt) = (1_000_000, 1_000_100) }
            #expect(await verifier.refusal(of: old) == .tokenExpired)
        }
    }

    @Test("Nothing is known of any token before keys and feed were read")
    func notReady() async throws {
        try await run { tokens, verifier in
            tokens.setFeed(isDown: true)
            #expect(try await verifier.refusal(of: TeamTokens.token()) == .unavailable)
            tokens.answer { $0.keys = [TeamTokens.key.publicKey] }
            let junk = "a.b.c"
            try await eventually("there are keys") { await verifier.refusal(of: junk) == .invalidToken }
            #expect(try await verifier.refusal(of: TeamTokens.token()) == .unavailable && !verifier.isReady)
            tokens.setFeed(isDown: false)
            try await eventually("the feed is read") { verifier.isReady }
            #expect(try await verifier.refusal(of: TeamTokens.token()) == nil)
        }
    }

    @Test("A token ends with its session")
    func revoked() async throws {
        try await runReady { tokens, verifier in
            let session = UUID()
            let token = try TeamTokens.token { $0.sessionID = session }
            #expect(await verifier.refusal(of: token) == nil)
            tokens.end(session)
            try await eventually("the feed has told of it") { await verifier.refusal(of: token) == .invalidToken }
            #expect(try await verifier.refusal(of: TeamTokens.token()) == nil)
        }
    }

    @Test("The verifier fetches a key that it does not know yet, and refuses one that no issuer published")
    func unknownKey() async throws {
        try await runReady { tokens, verifier in
            let next = try RSAPrivateKey.generate()
            let token = try TeamTokens.token(key: next)
            tokens.answer { $0.keys = [TeamTokens.key.publicKey, next.publicKey] }
            // The client is asked to come again.
            #expect(await verifier.refusal(of: token) == .unavailable)
            try await eventually("the key is fetched") { await verifier.refusal(of: token) == nil }
            #expect(try await verifier.refusal(of: TeamTokens.token(key: .generate())) == .invalidToken)
        }
    }

    @Test("Keys and revocations that were read once are good while tokens is away")
    func outage() async throws {
        try await runReady { tokens, verifier in
            let session = UUID()
            let ended = try TeamTokens.token { $0.sessionID = session }
            tokens.end(session)
            try await eventually("the feed has told of it") { await verifier.refusal(of: ended) == .invalidToken }
            tokens.answer { $0.keys = nil }
            tokens.setFeed(isDown: true)
            #expect(try await verifier.refusal(of: TeamTokens.token()) == nil)
            // Whose key it is cannot be found out.
            let unknown = try TeamTokens.token(key: .generate())
            #expect(await verifier.refusal(of: unknown) == .unavailable)
            #expect(await verifier.refusal(of: ended) == .invalidToken)
        }
    }
}
