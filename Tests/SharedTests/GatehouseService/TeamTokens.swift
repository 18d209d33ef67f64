import AsyncHTTPClient
import Foundation
import GatehouseAccessTokens
import GatehouseService
import GatehouseServiceContracts
import NIOCore
import Synchronization
import TestKit

/// tokens, as a team's own service calls it: keys and introspection beside the feed of ``FakeTokens``.
final class TeamTokens: Sendable {
    struct Answers: Sendable {
        /// `nil`: 500.
        var keys: [RSAPublicKey]? = []
        /// Of introspection.
        var status = HTTPResponse.Status.ok
        var introspection = #"{"active":false}"#
    }

    static let credential = FakeTokens.credentials[3]
    static let issuer = "http://gatehouse.localhost"
    static let key = try! RSAPrivateKey.generate()

    private let tokens = FakeTokens()
    private let state = Mutex(Answers())
    private let asked = Mutex<[Question]>([])

    /// A request to introspection, and its caller.
    struct Question: Sendable {
        var authorization: String
        var requestID: String
        var traceparent: String
        var body: String
    }

    var questions: [Question] { asked.withLock { $0 } }

    func answer(_ change: (inout Answers) -> Void) { state.withLock { change(&$0) } }

    func end(_ session: UUID) { tokens.state.withLock { $0.feed.end(session, of: UUID()) } }

    func setFeed(isDown: Bool) { tokens.state.withLock { $0.feed.isDown = isDown } }

    /// Runs `body` with a configuration that leads here.
    static func run(
        _ body: (TeamTokens, AccessTokenConfiguration, HTTPClient) async throws -> Void
    ) async throws {
        let tokens = TeamTokens()
        let client = HTTPClient(configuration: .gatehouse())
        try await withHTTPServer(tokens.router) { url in
            do {
                let settings = Settings(
                    service: "shop",
                    environment: [
                        "GATEHOUSE_ENVIRONMENT": "development", "GATEHOUSE_PATIENCE_MS": "20000",
                        "SHOP_TOKENS_URL": url.absoluteString, "SHOP_TOKENS_CREDENTIAL": credential,
                    ])
                let configuration = AccessTokenConfiguration(settings: settings)
                try settings.finish()
                try await body(tokens, configuration, client)
            } catch {
                try? await client.shutdown()
                throw error
            }
            try await client.shutdown()
        }
    }

    /// A token for a session of now; `change` makes it another.
    static func token(key: RSAPrivateKey = key, _ change: (inout AccessTokenClaims) -> Void = { _ in }) throws -> String
    {
        let now = Int64(Date.now.timeIntervalSince1970)
        var claims = AccessTokenClaims(
            issuer: issuer, audience: "gatehouse", subject: UUID(), sessionID: UUID(), issuedAt: now - 60,
            expiresAt: now + 600, clientID: "com.example.app", role: "courier", storeIDs: ["store-1"])
        change(&claims)
        return try AccessTokenSigner(key: key).sign(claims)
    }

    private var router: Router<BasicRequestContext> {
        let router = tokens.router()
        router.get("/.well-known/jwks.json") { [self] _, _ in
            guard let keys = state.withLock({ $0.keys }) else { throw HTTPError(.internalServerError) }
            return Response(
                status: .ok,
                body: .init(byteBuffer: .init(bytes: try VerificationKeySet(keys: keys).jwks())))
        }
        router.post("/internal/oauth/introspect") { [self] request, _ in
            let body = String(buffer: try await request.body.collect(upTo: 65_536))
            func field(_ name: String) -> String { request.headers[.init(name)!] ?? "" }
            let question = Question(
                authorization: field("Authorization"), requestID: field(HeaderName.internalRequestID),
                traceparent: field(HeaderName.traceparent), body: body)
            asked.withLock { $0.append(question) }
            let answers = state.withLock { $0 }
            return Response(status: answers.status, body: .init(byteBuffer: .init(string: answers.introspection)))
        }
        return router
    }
}

extension BearerVerifier {
    /// The code of its refusal; `nil` where it knows the user.
    func refusal(of token: String) async -> ErrorCode? {
        do {
            _ = try await user(of: token)
            return nil
        } catch {
            return error.code
        }
    }
}
