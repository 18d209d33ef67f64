import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import Hummingbird
import Postgres

/// The introspection response for an active token (RFC 7662 §2.2).
struct Introspection: Sendable, Equatable {
    /// RFC 7662 has no member for the kind of token. Without this member, a service might accept a refresh token as an
    /// access token.
    enum Use: String, Sendable {
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
    }

    var use: Use
    var issuer: String
    var clientID: String
    var subject: UUID
    var sessionID: UUID
    /// Seconds since 1970; `nil` for a refresh token that was replayed, whose time of issue is not stored.
    var issuedAt: Int64?
    var expiresAt: Int64
    // Members of access tokens alone.
    var audience: String?
    var tokenID: UUID?
    var role: String?
    var storeIDs: [String]?
    var authenticationTime: Int64?
    /// `nil` when none is known.
    var authenticationMethods: [String]?
}

extension Introspection: Encodable {
    private enum CodingKeys: String, CodingKey {
        case active
        case use = "token_use"
        case type = "token_type"
        case issuer = "iss"
        case clientID = "client_id"
        case subject = "sub"
        case sessionID = "sid"
        case issuedAt = "iat"
        case expiresAt = "exp"
        case audience = "aud"
        case tokenID = "jti"
        case role
        case storeIDs = "store_ids"
        // RFC 9470 §6.2.
        case authenticationTime = "auth_time"
        case authenticationMethods = "amr"
    }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(true, forKey: .active)
        try members.encode(use.rawValue, forKey: .use)
        if use == .accessToken { try members.encode("Bearer", forKey: .type) }
        try members.encode(issuer, forKey: .issuer)
        try members.encode(clientID, forKey: .clientID)
        try members.encode(subject.uuidString.lowercased(), forKey: .subject)
        try members.encode(sessionID.uuidString.lowercased(), forKey: .sessionID)
        try members.encodeIfPresent(issuedAt, forKey: .issuedAt)
        try members.encode(expiresAt, forKey: .expiresAt)
        try members.encodeIfPresent(audience, forKey: .audience)
        try members.encodeIfPresent(tokenID?.uuidString.lowercased(), forKey: .tokenID)
        try members.encodeIfPresent(role, forKey: .role)
        try members.encodeIfPresent(storeIDs, forKey: .storeIDs)
        try members.encodeIfPresent(authenticationTime, forKey: .authenticationTime)
        try members.encodeIfPresent(authenticationMethods, forKey: .authenticationMethods)
    }
}

/// Determines whether a token is active (RFC 7662). Introspection changes nothing: it does not revoke the session even
/// if it detects a stolen token.
struct Introspector: Sendable {
    let rules: RotationRules
    let keys: RefreshKeyRing
    let accessTokens: AccessTokenReader
    let store: SessionStore
    let issuer: String
    let clientID: String

    /// - Returns: `nil` for a token that is not active, whatever the reason.
    /// - Throws: `Problem` or `PostgresError` when the state of the token cannot be determined.
    func introspect(_ text: String) async throws -> Introspection? {
        if let token = RefreshToken(text: text) { return try await introspect(token) }
        guard let claims = try accessTokens.genuineClaims(of: text),
            let session = try await store.read(claims.sessionID), claims.isLive(in: session)
        else { return nil }
        return Introspection(
            use: .accessToken, issuer: claims.issuer, clientID: claims.clientID, subject: claims.subject,
            sessionID: claims.sessionID, issuedAt: claims.issuedAt, expiresAt: claims.expiresAt,
            audience: claims.audience, tokenID: claims.tokenID, role: claims.role, storeIDs: claims.storeIDs,
            authenticationTime: claims.authenticationTime,
            authenticationMethods: claims.authenticationMethods.isEmpty ? nil : claims.authenticationMethods)
    }

    /// A refresh token is active if a refresh with it would succeed.
    private func introspect(_ token: RefreshToken) async throws(PostgresError) -> Introspection? {
        let authenticity = token.authenticity(under: keys)
        guard authenticity != .forged, let session = try await store.read(token.sessionID) else { return nil }
        let presented = RotationRules.Presented(
            generation: token.generation, hash: token.hash, isGenuine: authenticity == .genuine)
        let issuedAt: Int64?
        switch rules.decide(on: presented, of: session.state, at: session.grant.now) {
        case .rotate: issuedAt = Int64(session.state.rotatedAt.timeIntervalSince1970)
        case .repeatSuccessor, .countLateReplay: issuedAt = nil
        case .revoke, .tryLater, .refuse: return nil
        }
        return Introspection(
            use: .refreshToken, issuer: issuer, clientID: clientID, subject: session.grant.user.id,
            sessionID: token.sessionID, issuedAt: issuedAt,
            expiresAt: Int64(session.state.expiresAt.timeIntervalSince1970))
    }
}

/// Verifies the service's own access tokens with the keys that it currently publishes.
struct AccessTokenReader: Sendable {
    let keys: SigningKeySource

    /// The claims of a token that this service signed, even if it has expired, because PostgreSQL's clock decides about
    /// expiry. `nil` for any other token.
    ///
    /// - Throws: `UNAVAILABLE` when OpenSSL itself fails: the token was not verified.
    func genuineClaims(of text: String) throws(Problem) -> AccessTokenClaims? {
        do {
            // At second 0 no token has expired yet.
            return try keys.verifier.verify(text, now: 0)
        } catch {
            if error.code == .cryptography { throw Problem(.unavailable) }
            return nil
        }
    }
}

extension AccessTokenClaims {
    /// Whether the session belongs to the token's subject, and neither session nor token has expired.
    func isLive(in session: SessionRecord) -> Bool {
        session.grant.user.id == subject && session.grant.now < session.state.expiresAt
            && session.grant.now.timeIntervalSince1970 < Double(expiresAt)
    }
}

/// Introspection (RFC 7662), for a team's own services and tools that cannot verify an access token themselves, or that
/// need to detect that its session has ended.
///
/// The path begins with `/internal`, which the gateway does not forward. Callers authenticate by Basic, as OAuth
/// libraries do, with a credential that serves introspection.
struct IntrospectionRoutes: Sendable {
    /// The client id of callers. The secret is one of `TOKENS_INTROSPECTION_CREDENTIALS`.
    static let caller = "introspection"
    private static let challenge = #"Basic realm="introspection", charset="UTF-8""#
    /// RFC 7662 §2.3.
    private static let unknownCaller = OAuthError(
        code: "invalid_client", description: "The caller is not known here.", status: 401)

    let introspector: Introspector
    let credentials: CallerCredentials

    func add(to router: ServiceRouter) {
        router.post("/internal/oauth/introspect") { request, context in
            var response = try await OAuthError.answering(context) { try await introspect(request) }
            if response.status == .unauthorized { response.headers[.wwwAuthenticate] = Self.challenge }
            return response
        }
    }

    private func introspect(_ request: Request) async throws -> Response {
        guard let presented = BasicCredential(request.headers[.authorization]), presented.name.isVerbatim(Self.caller),
            credentials.caller(presenting: presented.secret) == Self.caller
        else { throw Self.unknownCaller }
        guard let token = try await request.decodeForm()["token"], !token.isEmpty else {
            throw OAuthError.invalidRequest("token is missing.")
        }
        guard let introspection = try await introspector.introspect(token) else {
            return try .json(["active": false], holdsToken: true)
        }
        return try .json(introspection, holdsToken: true)
    }
}
