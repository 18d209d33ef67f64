import AsyncHTTPClient
import Crypto
import Foundation
import GatehouseBytes
import GatehouseLimits
import GatehouseServiceKit
import NIOCore
import NIOHTTP1

/// The endpoints of Apple that this service calls. Their addresses are settings; there is no discovery.
struct AppleServer: Sendable {
    let httpClient: HTTPClient
    let keysURL: URL
    let tokenURL: URL
    let revokeURL: URL
    let migrationURL: URL
    /// `nil` where the team has no key of its own at Apple. Codes are then not exchanged, and nothing is revoked.
    let clientSecret: AppleClientSecret?

    /// For the whole response. A response that stalls in its body must not delay the requests after it.
    var timeout = Duration.seconds(3)
    /// Longer, because a code is single-use: without Apple's response its token could never be revoked. No client waits
    /// for an exchange. An exchange and the first request to revoke together end before the task's claim expires.
    var exchangeTimeout = Duration.seconds(10)
    private static let maximumAnswer = 64 * 1024

    struct UnexpectedAnswer: Error, CustomStringConvertible {
        var status: Int
        var error: String?

        var description: String { (["\(status)"] + [error].compactMap(\.self)).joined(separator: " ") }
    }

    /// `GET /auth/keys`
    func keys() async throws -> AppleKeySet {
        var request = HTTPClientRequest(url: keysURL.absoluteString)
        request.headers.add(name: "Accept", value: "application/json")
        let (status, body) = try await send(request, timeout: timeout)
        guard status == 200 else { throw UnexpectedAnswer(status: status) }
        return try AppleKeySet(jwks: body)
    }

    /// Apple's response to the exchange of a code.
    struct TokenResponse: Decodable {
        var refreshToken: String
        /// Identifies the user of the code. It comes from Apple itself over TLS, so its signature need not be verified
        /// (OpenID Connect Core 1.0 §3.1.3.7).
        var identityToken: String?

        enum CodingKeys: String, CodingKey {
            case refreshToken = "refresh_token"
            case identityToken = "id_token"
        }

        /// Whether Apple issued the code for that user and that app.
        func isOf(subject: String, clientID: String) -> Bool {
            guard let identityToken, let parts = JWSParts(identityToken),
                let claims = try? StrictJSON.decode(AppleIdentityClaims.self, from: parts.payload)
            else { return false }
            return claims.subject.isVerbatim(subject) && claims.audience.isVerbatim(clientID)
        }
    }

    /// `POST /auth/token`: exchanges an authorization code for a refresh token.
    /// - Returns: `nil` when Apple no longer accepts the code.
    func exchange(_ code: AppleGrant, secret: AppleClientSecret) async throws -> TokenResponse? {
        var form = [
            ("client_id", code.clientID),
            ("client_secret", try secret.make(clientID: code.clientID, now: .now)), ("code", code.secret),
            ("grant_type", "authorization_code"),
        ]
        if let redirectURI = code.redirectURI { form.append(("redirect_uri", redirectURI)) }
        let (status, body) = try await post(tokenURL, form, timeout: exchangeTimeout)
        if status == 400, Self.isInvalidGrant(body) { return nil }
        guard status == 200 else { throw UnexpectedAnswer(status: status) }
        return try StrictJSON.decode(TokenResponse.self, from: Array(body))
    }

    /// `POST /auth/revoke`. A token that Apple no longer knows counts as revoked.
    func revoke(refreshToken: String, clientID: String, secret: AppleClientSecret) async throws {
        let (status, body) = try await post(
            revokeURL,
            [
                ("client_id", clientID), ("client_secret", try secret.make(clientID: clientID, now: .now)),
                ("token", refreshToken), ("token_type_hint", "refresh_token"),
            ], timeout: timeout)
        guard status == 200 || (status == 400 && Self.isInvalidGrant(body)) else {
            throw UnexpectedAnswer(status: status)
        }
    }

    private static func isInvalidGrant(_ body: Data) -> Bool { error(in: body) == "invalid_grant" }

    /// Apple's error code (RFC 6749 §5.2).
    static func error(in body: Data) -> String? {
        struct Answer: Decodable {
            var error: String
        }
        return (try? JSONDecoder().decode(Answer.self, from: body))?.error
    }

    func post(
        _ url: URL, _ form: [(String, String)], bearer: String? = nil, timeout: Duration
    ) async throws -> (Int, Data) {
        var request = HTTPClientRequest(url: url.absoluteString)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
        if let bearer { request.headers.add(name: "Authorization", value: "Bearer \(bearer)") }
        request.headers.add(name: "Accept", value: "application/json")
        request.body = .bytes(Array(FormBody.encode(form).utf8))
        return try await send(request, timeout: timeout)
    }

    private func send(_ request: HTTPClientRequest, timeout: Duration) async throws -> (Int, Data) {
        let answer = try await httpClient.exchange(
            request, with: "apple", upTo: Self.maximumAnswer, before: .after(timeout))
        return (answer.status, Data(answer.body.readableBytesView))
    }
}

extension AppleServer {
    init(httpClient: HTTPClient, configuration: AppleConfiguration) {
        self.init(
            httpClient: httpClient, keysURL: configuration.keysURL, tokenURL: configuration.tokenURL,
            revokeURL: configuration.revokeURL, migrationURL: configuration.migrationURL,
            clientSecret: configuration.clientSecret)
    }
}

/// The team's `client_secret` at Apple: a JWT signed with the team's own key. It is created for each call. A fixed one
/// would expire, and sign-in would then fail.
struct AppleClientSecret: Sendable {
    let teamID: String
    let keyID: String
    private let key: P256.Signing.PrivateKey

    /// Seconds; Apple allows six months.
    static let lifetime: TimeInterval = 300

    /// - Parameter pem: the `.p8` file from Apple (PKCS #8, P-256).
    init(teamID: String, keyID: String, pem: String) throws {
        self.teamID = teamID
        self.keyID = keyID
        // RFC 7468 allows text before the key; the parser does not.
        let start = pem.range(of: "-----BEGIN")?.lowerBound ?? pem.startIndex
        key = try P256.Signing.PrivateKey(pemRepresentation: String(pem[start...]))
    }

    func make(clientID: String, now: Date) throws -> String {
        let issuedAt = Int64(now.timeIntervalSince1970)
        var header = JSONWriter()
        header.object {
            $0.member("alg", "ES256")
            $0.member("kid", keyID)
            $0.member("typ", "JWT")
        }
        var claims = JSONWriter()
        claims.object {
            $0.member("iss", teamID)
            $0.member("iat", issuedAt)
            $0.member("exp", issuedAt + Int64(Self.lifetime))
            $0.member("aud", "https://appleid.apple.com")
            $0.member("sub", clientID)
        }
        let signingInput = "\(Base64URL.string(header.bytes)).\(Base64URL.string(claims.bytes))"
        let signature = try key.signature(for: Data(signingInput.utf8))
        return "\(signingInput).\(Base64URL.string(signature.rawRepresentation))"
    }
}
