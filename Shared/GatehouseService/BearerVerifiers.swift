public import AsyncHTTPClient
import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import GatehouseInstruments
public import GatehouseObservability
public import GatehouseServiceContracts
public import GatehouseServiceKit
import GatehouseTokenValidation
public import Logging
public import ServiceLifecycle

/// Verifies an access token and returns its user, in a service that clients reach without the gateway.
///
/// Two types conform: ``PublishedKeyVerifier`` verifies tokens locally, ``IntrospectionVerifier`` calls tokens for each
/// one.
public protocol BearerVerifier: Sendable {
    /// The user whose access token it is.
    ///
    /// - Parameter token: the text after `Bearer`, which is untrusted input.
    /// - Throws: `INVALID_TOKEN` for a token that is invalid, or whose session has ended; `TOKEN_EXPIRED` from
    ///   ``PublishedKeyVerifier`` (``IntrospectionVerifier`` cannot distinguish it); `UNAVAILABLE` when the token could
    ///   not be verified: after any other error the client would refresh, and then report that the user has to sign in.
    func user(of token: String) async throws(Problem) -> ForwardedUser
}

/// Verifies access tokens with the keys that tokens publishes (RFC 7517), and follows its revocation feed, as the
/// gateway does. A request needs no call to tokens. A token whose session has ended is refused within a second.
///
/// It has to run: add it to the services of ``ServiceAssembly``, and add its ``readiness`` too. While tokens is
/// unavailable, fetched keys stay trusted for a day, and known revocations for the access tokens' lifetime.
public struct PublishedKeyVerifier: BearerVerifier, Service {
    private let keys: IssuerKeys<OwnIssuer>
    private let revoked: RevokedSessions
    private let keyFetcher: KeyFetcher<OwnIssuer>
    private let feedReader: RevocationFeedReader

    /// - Parameters:
    ///   - configuration: the accepted issuer, and the addresses of tokens.
    ///   - httpClient: ``ServiceBoot/httpClient``.
    public init(_ configuration: AccessTokenConfiguration, httpClient: HTTPClient, logger: Logger) {
        let issuer = OwnIssuer(issuer: configuration.issuer, audience: configuration.audience)
        keys = IssuerKeys(issuers: [issuer])
        revoked = RevokedSessions(maximumStaleness: configuration.revocationMaximumStaleness)
        keyFetcher = KeyFetcher(
            store: keys, maximumStaleness: configuration.keysMaximumStaleness, logger: logger,
            interval: KeyFetcher<OwnIssuer>.interval(ofStaleness: configuration.keysMaximumStaleness),
            fetch: PublishedKeys(
                addresses: configuration.tokensURLs.map { $0.appending(path: ".well-known/jwks.json") },
                client: httpClient,
                unusable: UnusableKeys(
                    issuer: configuration.issuer,
                    number: Gauge("gatehouse_unusable_keys", help: "Published keys that this service cannot use."),
                    logger: logger)
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
            fetch: { try await tokens.accessRevocations(after: $0, waiting: $1) })
    }

    /// Whether keys were fetched and the feed was read to its end. Before that, every token gets `UNAVAILABLE`.
    public var isReady: Bool { keys.isUsable(now: Self.now) && revoked.isUsable(now: Self.now) }

    /// The readiness checks for ``ServiceAssembly``.
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

    public func user(of token: String) async throws(Problem) -> ForwardedUser {
        let now = Self.now
        let snapshot = keys.snapshot
        let source = snapshot.sources[0]
        guard let verifier = source.verifier, source.isUsable(now: now) else { throw Problem(.unavailable) }
        let claims: AccessTokenClaims
        do {
            claims = try verifier.verify(token, now: now)
        } catch {
            guard let problem = problem(error, snapshot, now: now) else { return try await user(of: token) }
            throw problem
        }
        switch revoked.status(of: claims.sessionID, now: now) {
        case .live: return ForwardedUser(claims)
        case .revoked: throw Problem(.invalidToken)
        case .unknown: throw Problem(.unavailable)
        }
    }

    /// - Returns: `nil`, when other keys have come meanwhile, so that the token is to be verified once more.
    private func problem(_ error: AccessTokenError, _ snapshot: IssuerKeys<OwnIssuer>.Snapshot, now: Int64) -> Problem?
    {
        switch error.code {
        case .expired: return Problem(.tokenExpired)
        case .cryptography: return Problem(.unavailable)
        case .unknownKey:
            switch keys.demandFetch(after: snapshot.version, now: now) {
            // The key may have been published just now. The client retries.
            case .isFetching: return Problem(.unavailable)
            case .hasChanged: return nil
            case .isTooEarly: return Problem(snapshot.sources[0].didLastFetchFail ? .unavailable : .invalidToken)
            }
        default: return Problem(.invalidToken)
        }
    }

    private static var now: Int64 { Int64(Date.now.timeIntervalSince1970) }
}

extension ForwardedUser {
    fileprivate init(_ claims: AccessTokenClaims) {
        self.init(
            id: claims.subject, sessionID: claims.sessionID, role: claims.role, storeIDs: claims.storeIDs,
            authenticatedAt: claims.authenticationTime.flatMap(Date.init(accepting:)),
            authenticationMethods: claims.authenticationMethods.map(AuthenticationMethod.init(rawValue:)))
    }
}

/// Calls tokens for each access token (RFC 7662). A token is refused as soon as its session has ended, at the cost of a
/// call for each request.
///
/// tokens does not report why a token is invalid (RFC 7662 §2.2), so an expired one gets `INVALID_TOKEN` too.
public struct IntrospectionVerifier: BearerVerifier {
    /// The limit of ``PublishedKeyVerifier``. tokens would not accept a longer access token either.
    private static let longestToken = 8192

    private let configuration: AccessTokenConfiguration
    private let tokens: ServiceClient
    private let logger: Logger
    private let authorization: String

    /// - Parameters:
    ///   - configuration: the accepted issuer, and the addresses of tokens.
    ///   - httpClient: ``ServiceBoot/httpClient``.
    public init(_ configuration: AccessTokenConfiguration, httpClient: HTTPClient, logger: Logger) {
        self.configuration = configuration
        tokens = configuration.tokens(httpClient)
        self.logger = logger
        // Id and secret are form-encoded first (RFC 6749 §2.3.1), which leaves this client id unchanged.
        let secret = FormBody.encode([("", configuration.tokensCredential)]).dropFirst()
        authorization = "Basic " + Data("introspection:\(secret)".utf8).base64EncodedString()
    }

    public func user(of token: String) async throws(Problem) -> ForwardedUser {
        // tokens refuses a request without a token as invalid.
        guard (1...Self.longestToken).contains(token.utf8.count) else { throw Problem(.invalidToken) }
        let answer = try await introspect(token)
        guard answer.active, answer.use == "access_token" else { throw Problem(.invalidToken) }
        guard let issuer = answer.issuer, let audience = answer.audience, let subject = answer.subject,
            let session = answer.sessionID
        else { throw unavailable("an answer without iss, aud, sub or sid") }
        guard issuer.isVerbatim(configuration.issuer), audience.isVerbatim(configuration.audience) else {
            throw Problem(.invalidToken)
        }
        return ForwardedUser(
            id: subject, sessionID: session, role: answer.role ?? "", storeIDs: answer.storeIDs ?? [],
            authenticatedAt: answer.authenticationTime.flatMap(Date.init(accepting:)),
            authenticationMethods: answer.authenticationMethods ?? [])
    }

    /// The members of RFC 7662 §2.2 and of Gatehouse that are used.
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

    /// Introspection is idempotent, so the call may be retried at another replica.
    private func introspect(_ token: String) async throws(Problem) -> Answer {
        do {
            return try await tokens.post(
                form: [("token", token)], to: "/internal/oauth/introspect", authorization: authorization,
                idempotent: true)
        } catch {
            throw unavailable("\(error)")
        }
    }

    private func unavailable(_ reason: String) -> Problem {
        logger.warning("introspection of an access token failed", metadata: ["error": "\(reason)"])
        return Problem(.unavailable)
    }
}
