import Crypto
import Foundation
import GatehouseAccessTokens
import GatehouseBytes

/// A provider token ("Establishing a token-based connection to APNs").
struct ProviderToken: Sendable, Equatable {
    var team: String
    var keyIdentifier: String
    /// Seconds since 1970.
    var issuedAt: Int
    /// The bundle identifiers of a topic-specific key; nil for a team's key.
    var topics: Set<String>?
    /// Of an unknown key, only the form and the age were checked.
    var isVerified = true
}

/// The public half of a team's key.
struct ProviderKey: Sendable {
    /// `nil` for a key that is not known: its tokens are not verified.
    var publicKey: P256.Signing.PublicKey?
    var topics: Set<String>?

    static let unverified = ProviderKey()

    private init() {}

    /// - Parameter pem: the public key, or the private one of a `.p8` file, of which only the public half is used.
    init(pem: String, topics: Set<String>? = nil) throws {
        publicKey =
            try (try? P256.Signing.PublicKey(pemRepresentation: pem))
            ?? P256.Signing.PrivateKey(pemRepresentation: pem).publicKey
        self.topics = topics
    }
}

/// The provider tokens of one connection.
struct ProviderTokenMachine {
    /// Seconds. "APNs rejects any request whose token contains a timestamp that is more than one hour old."
    static let maximumAge = 3_600
    /// Seconds. "Refresh your token no more than once every 20 minutes."
    static let minimumRenewal = 1_200
    /// Seconds that a client's clock may be ahead.
    private static let tolerance = 60

    /// The accepted token and the field that it came in, so that the next request needs no verification.
    private var current: (field: String, token: ProviderToken)?

    /// Whether a valid token was seen.
    var isAuthenticated: Bool { current != nil }

    /// Verifies the token of a request.
    ///
    /// A renewal is too early if the new token was issued less than 20 minutes after the connection's last one,
    /// whenever that was first used: a client that opens a connection with an old token may renew it.
    ///
    /// - Parameters:
    ///   - field: `authorization`.
    ///   - now: seconds since 1970.
    ///   - key: finds the key of a team by its identifier.
    mutating func verify(
        _ field: String?, now: Int, key: (_ team: String, _ identifier: String) -> ProviderKey?
    ) -> Result<ProviderToken, APNsAnswer.Refusal> {
        // One of an unknown key is refused as soon as a test has registered keys.
        if let field, let current, current.field == field, current.token.isVerified {
            return now - current.token.issuedAt > Self.maximumAge
                ? .refused(403, "ExpiredProviderToken") : .success(current.token)
        }
        guard let field, field.lowercased().hasPrefix("bearer ") else { return .refused(403, "MissingProviderToken") }
        guard let token = Self.verified(field.dropFirst("bearer ".count), key: key),
            token.issuedAt <= now + Self.tolerance
        else { return .refused(403, "InvalidProviderToken") }
        guard now - token.issuedAt <= Self.maximumAge else { return .refused(403, "ExpiredProviderToken") }
        if let last = current?.token, current?.field != field {
            guard last.team == token.team, last.keyIdentifier == token.keyIdentifier else {
                return .refused(403, "UnrelatedKeyIdInToken")
            }
            guard token.issuedAt - last.issuedAt >= Self.minimumRenewal else {
                return .refused(429, "TooManyProviderTokenUpdates")
            }
        }
        current = (field, token)
        return .success(token)
    }

    private static func verified(
        _ token: Substring, key: (_ team: String, _ identifier: String) -> ProviderKey?
    ) -> ProviderToken? {
        struct Header: Decodable { var alg, kid: String }
        struct Claims: Decodable {
            var iss: String
            var iat: Int
        }
        guard let parts = try? CompactParts(Array(token.utf8)), let header = Base64URL.decode(parts.header),
            let body = Base64URL.decode(parts.payload), let signature = Base64URL.decode(parts.signature),
            let header = try? JSONDecoder().decode(Header.self, from: Data(header)), header.alg == "ES256",
            let claims = try? JSONDecoder().decode(Claims.self, from: Data(body)),
            let key = key(claims.iss, header.kid)
        else { return nil }
        if let publicKey = key.publicKey {
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
                publicKey.isValidSignature(signature, for: parts.signingInput)
            else { return nil }
        }
        return ProviderToken(
            team: claims.iss, keyIdentifier: header.kid, issuedAt: claims.iat, topics: key.topics,
            isVerified: key.publicKey != nil)
    }
}

extension Result where Success == ProviderToken, Failure == APNsAnswer.Refusal {
    fileprivate static func refused(_ status: Int, _ reason: String) -> Self {
        .failure(APNsAnswer.Refusal(answer: .refused(status, reason)))
    }
}
