import AsyncHTTPClient
public import Foundation
import GatehouseAccessTokens
import GatehouseServiceKit
public import GatehouseSettings
import GatehouseTokenValidation

/// The issuer whose access tokens a service accepts, and the addresses and trust limits for verifying them.
public struct AccessTokenConfiguration: Sendable {
    /// `iss`: tokens' `TOKENS_ISSUER`.
    public var issuer: String
    /// `aud`: tokens' `TOKENS_AUDIENCE`.
    public var audience: String
    /// The replicas of tokens. The gateway does not forward to the internal routes that are called here.
    public var tokensURLs: [URL]
    /// One of tokens' `TOKENS_INTROSPECTION_CREDENTIALS`.
    public var tokensCredential: String
    /// Seconds for which the last fetched keys are trusted while fetching fails.
    public var keysMaximumStaleness: Int64
    /// Seconds for which the last known revocations are trusted while the feed cannot be read.
    public var revocationMaximumStaleness: Int64
    /// The timeout for calls to tokens.
    public var dependencyTimeout: Duration

    /// Reads the settings. For a service `orders` their names begin with `ORDERS_`, and `orders describe` prints them.
    /// Set `ORDERS_REVOCATION_MAX_STALENESS` to the longest lifetime of an access token.
    public init(settings: Settings) {
        issuer = settings.acceptedIssuer()
        audience = settings.acceptedAudience()
        tokensURLs = settings.urls("tokensURL", "replicas of tokens")
        tokensCredential = settings.secret("tokensCredential", "one of `TOKENS_INTROSPECTION_CREDENTIALS`")
        keysMaximumStaleness = settings.keysMaximumStaleness()
        revocationMaximumStaleness = settings.revocationMaximumStaleness()
        dependencyTimeout = settings.dependencyTimeout
    }

    func tokens(_ httpClient: HTTPClient) -> ServiceClient {
        ServiceClient(
            callee: "tokens", urls: tokensURLs, credential: tokensCredential, httpClient: httpClient,
            dependencyTimeout: dependencyTimeout)
    }
}

extension AccessTokenConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Omits the credential, which must not be logged.
    public var description: String { "AccessTokenConfiguration(issuer: \(issuer), audience: \(audience))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["issuer": issuer, "audience": audience]) }
}

/// Gatehouse as the issuer of the access tokens.
struct OwnIssuer: KeyIssuer {
    /// `iss`
    var issuer: String
    /// `aud`
    var audience: String

    func verifier(with keys: VerificationKeySet, leeway: Int64) throws(AccessTokenError) -> AccessTokenVerifier {
        try AccessTokenVerifier(issuer: issuer, audience: audience, keys: keys, leeway: leeway)
    }
}
