import AccessToken
public import AsyncHTTPClient
import Bytes
public import Contracts
import Foundation
import Instruments
public import Logging
public import Observability
public import ServiceKit
public import ServiceLifecycle
import TokenValidation

/// Finds out whose an access token is, in a service that the gateway does not stand before.
///
/// Two ways, each a conformer: ``PublishedKeyJudge`` asks nobody for a token, ``IntrospectionJudge`` asks tokens for each.
public protocol AccessTokenJudge: Sendable {
    /// The user whose access token it is.
    ///
    /// - Parameters:
    ///   - token: the text after `Bearer`; anything that a stranger may send.
    ///   - deadline: when the caller stops waiting.
    /// - Throws: `INVALID_TOKEN` for a token that is not good, or whose session has ended; `TOKEN_EXPIRED` from a judge
    ///   that can tell, which ``PublishedKeyJudge`` can and ``IntrospectionJudge`` cannot; `UNAVAILABLE` where nothing is
    ///   known of it: a client that was told otherwise would sign its user out.
    func user(of token: String, before deadline: Deadline) async throws(Problem) -> ForwardedUser
}

/// Verifies access tokens with the keys that tokens publishes (RFC 7517), and follows its revocation feed: no token is
/// asked about, and one whose session has ended is refused within a second.
///
/// The same that the gateway does. It has to run: hand it to ``ServiceAssembly`` as a service, and its ``readiness`` too.
/// Keys that were fetched once are good for a day while tokens is away, revocations for the access tokens' lifetime.
public struct PublishedKeyJudge: AccessTokenJudge, Service {
    private let keys: KeyStore<OwnIssuer>
    private let revoked: RevokedSessions
    private let keyFetcher: KeyFetcher<OwnIssuer>
    private let feedReader: RevocationFeedReader

    /// - Parameters:
    ///   - configuration: whose tokens are good, and where tokens is.
    ///   - httpClient: ``ServiceBoot/httpClient``.
    public init(_ configuration: AccessTokenConfiguration, httpClient: HTTPClient, logger: Logger) {
        let issuer = OwnIssuer(issuer: configuration.issuer, audience: configuration.audience)
        keys = KeyStore(issuers: [issuer])
        revoked = RevokedSessions(maximumStaleness: configuration.revocationMaximumStaleness)
        keyFetcher = KeyFetcher(
            store: keys, maximumStaleness: configuration.keysMaximumStaleness, logger: logger,
            interval: KeyFetcher<OwnIssuer>.interval(ofStaleness: configuration.keysMaximumStaleness),
            fetch: PublishedKeys(
                addresses: configuration.tokensURLs.map { $0.appending(path: ".well-known/jwks.json") },
                client: httpClient
            ).read)
        let tokens = configuration.tokens(httpClient)
        feedReader = RevocationFeedReader(
            sessions: revoked,
            metrics: RevocationFeedMetrics(
                isLost: Gauge(
                    "gatehouse_revocation_feed_lost", help: "1 while the revocation feed of tokens cannot be read."),
                readAt: Gauge(
                    "gatehouse_revocation_feed_read_timestamp_seconds",
                    help: "When the revocation feed was last read to its end, in seconds since 1970."),
                delay: DurationHistogram(
                    "gatehouse_revocation_delay_seconds",
                    help: "From a session's revocation until this service knew of it.")),
            live: Gauge("gatehouse_revoked_sessions", help: "Revoked sessions whose access tokens may still live."),
            logger: logger,
            fetch: { try await tokens.revocations(after: $0, waiting: $1) })
    }

    /// Whether keys are there, and the feed was read whole: before that every token is answered `UNAVAILABLE`.
    public var isReady: Bool { keys.isUsable(now: Self.now) && revoked.isUsable(now: Self.now) }

    /// The same for ``ServiceAssembly``.
    public var readiness: [ReadinessCheck] {
        [
            ReadinessCheck("keys") { [keys] in keys.isUsable(now: Self.now) },
            ReadinessCheck("revocations") { [revoked] in revoked.isUsable(now: Self.now) },
        ]
    }

    /// Fetches keys and follows the feed until the service stops.
    public func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await keyFetcher.run() }
            group.addTask { try await feedReader.run() }
            try await group.waitForAll()
        }
    }

    public func user(of token: String, before deadline: Deadline) async throws(Problem) -> ForwardedUser {
        let now = Self.now
        let source = keys.snapshot.sources[0]
        guard let verifier = source.verifier, source.isUsable(now: now) else { throw Problem(.unavailable) }
        let claims: AccessTokenClaims
        do {
            claims = try verifier.verify(token, now: now)
        } catch {
            throw problem(error, didLastFetchFail: source.didLastFetchFail, now: now)
        }
        switch revoked.status(of: claims.sessionID, now: now) {
        case .live: return ForwardedUser(claims)
        case .revoked: throw Problem(.invalidToken)
        case .unknown: throw Problem(.unavailable)
        }
    }

    private func problem(_ error: AccessTokenError, didLastFetchFail: Bool, now: Int64) -> Problem {
        switch error.code {
        case .expired: Problem(.tokenExpired)
        case .cryptography: Problem(.unavailable)
        // It may be a key that was published just now: fetched at most every 30 s, and asked for again by the client.
        case .unknownKey where keys.demandFetch(now: now) || didLastFetchFail: Problem(.unavailable)
        default: Problem(.invalidToken)
        }
    }

    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970) }
}

extension ForwardedUser {
    fileprivate init(_ claims: AccessTokenClaims) {
        self.init(
            id: claims.subject, sessionID: claims.sessionID, role: claims.role, storeIDs: claims.storeIDs,
            authenticatedAt: claims.authenticationTime.map { Date(timeIntervalSince1970: TimeInterval($0)) },
            authenticationMethods: claims.authenticationMethods.map(AuthenticationMethod.init(rawValue:)))
    }
}

/// Asks tokens about each access token (RFC 7662): it is refused from the moment at which its session has ended, at the
/// price of a call for each request.
///
/// tokens does not say why a token is good no more (RFC 7662 §2.2): an expired one is `INVALID_TOKEN`, too.
public struct IntrospectionJudge: AccessTokenJudge {
    /// As in the other judge; also what tokens would not take for an access token.
    private static let longestToken = 8192

    private let configuration: AccessTokenConfiguration
    private let tokens: ServiceClient
    private let logger: Logger
    private let authorization: String

    /// - Parameters:
    ///   - configuration: whose tokens are good, and where tokens is.
    ///   - httpClient: ``ServiceBoot/httpClient``.
    public init(_ configuration: AccessTokenConfiguration, httpClient: HTTPClient, logger: Logger) {
        self.configuration = configuration
        tokens = configuration.tokens(httpClient)
        self.logger = logger
        // Both form-encoded first (RFC 6749 §2.3.1); of the client id nothing changes.
        let secret = FormBody.encode([("", configuration.tokensCredential)]).dropFirst()
        authorization = "Basic " + Data("introspection:\(secret)".utf8).base64EncodedString()
    }

    public func user(of token: String, before deadline: Deadline) async throws(Problem) -> ForwardedUser {
        // Without any, tokens would find fault with the request.
        guard (1...Self.longestToken).contains(token.utf8.count) else { throw Problem(.invalidToken) }
        let answer = try await ask(about: token, before: deadline)
        guard answer.active, answer.use == "access_token" else { throw Problem(.invalidToken) }
        guard let issuer = answer.issuer, let audience = answer.audience, let subject = answer.subject,
            let session = answer.sessionID
        else { throw unavailable("an answer without iss, aud, sub or sid") }
        guard issuer.isVerbatim(configuration.issuer), audience.isVerbatim(configuration.audience) else {
            throw Problem(.invalidToken)
        }
        return ForwardedUser(
            id: subject, sessionID: session, role: answer.role ?? "", storeIDs: answer.storeIDs ?? [],
            authenticatedAt: answer.authenticationTime.map { Date(timeIntervalSince1970: TimeInterval($0)) },
            authenticationMethods: answer.authenticationMethods ?? [])
    }

    /// What is read of RFC 7662 §2.2 and of Gatehouse's own members.
    private struct Answer: Decodable {
        private enum CodingKeys: String, CodingKey {
            case active
            case use = "token_use"
            case issuer = "iss"
            case audience = "aud"
            case subject = "sub"
            case sessionID = "sid"
            case role
            case storeIDs = "store_ids"
            case authenticationTime = "auth_time"
            case authenticationMethods = "amr"
        }

        var active: Bool
        var use: String?
        var issuer: String?
        var audience: String?
        var subject: UUID?
        var sessionID: UUID?
        var role: String?
        var storeIDs: [String]?
        var authenticationTime: Int64?
        var authenticationMethods: [AuthenticationMethod]?
    }

    /// Asking changes nothing, so that it may be repeated at another replica.
    private func ask(about token: String, before deadline: Deadline) async throws(Problem) -> Answer {
        do {
            return try await tokens.post(
                form: [("token", token)], to: "/internal/oauth/introspect", authorization: authorization,
                deadline: deadline, idempotent: true)
        } catch {
            throw unavailable("\(error)")
        }
    }

    private func unavailable(_ reason: String) -> Problem {
        logger.warning("tokens could not be asked about an access token", metadata: ["error": "\(reason)"])
        return Problem(.unavailable)
    }
}
