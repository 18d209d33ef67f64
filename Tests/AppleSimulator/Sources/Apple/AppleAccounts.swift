import Foundation

/// Apple's state: keys, consents, codes and tokens.
actor AppleAccounts {
    private let clientSecret: ClientSecret
    private let audience: String
    private let issuer: String
    /// Seconds since 1970.
    private let now: @Sendable () -> Int
    private var keys: SigningKeys
    private var codes = AuthorizationCodes()
    /// Keyed by refresh or access token. The value is the refresh token, so that revoking either revokes both.
    private var tokens: [String: String] = [:]
    private var grants: [String: Grant] = [:]
    /// The people who have signed in, by subject.
    private var people: [String: Grant] = [:]
    private var transfers = TeamTransfers()
    /// The teams' tokens for requests about their users. The value is the client.
    private var migrationTokens: [String: String] = [:]

    init(
        keys: SigningKeys, clientSecret: ClientSecret, audience: String, issuer: String,
        now: @escaping @Sendable () -> Int = { Int(Date().timeIntervalSince1970) }
    ) {
        self.keys = keys
        self.clientSecret = clientSecret
        self.audience = audience
        self.issuer = issuer
        self.now = now
    }

    // MARK: - Keys

    var publishedKeys: [PublishedKey] { keys.published }

    /// Signs with a new key from now on.
    func rotateKeys() async throws -> [PublishedKey] {
        rotateKeys(to: try await .generate())
    }

    @discardableResult
    func rotateKeys(to next: SigningKeys.Key) -> [PublishedKey] {
        keys.rotate(to: next)
        return keys.published
    }

    // MARK: - Signing in

    func signIn(_ request: SignInRequest) async throws -> SignInResponse {
        var grant = Grant(request, audience: audience, issuer: issuer, sub: Self.newSubject())
        if let recipient = request.transferredTo {
            let transfer = transfer(of: people[grant.sub] ?? grant, to: recipient)
            grant.sub = transfer.sub
            grant.transferSub = transfer.transferSub
            grant.email = grant.email == nil ? nil : transfer.email ?? grant.email
        }
        people[grant.sub] = grant
        let now = now()
        let token = try keys.current.sign(grant.claims(now: now, expiresIn: request.expiresIn ?? 600))
        let code = "c" + Self.random() + ".0." + Self.random().prefix(8)
        codes.issue(code, for: grant, now: now)
        return SignInResponse(identityToken: token, authorizationCode: code, sub: grant.sub)
    }

    // MARK: - Tokens

    func exchange(_ form: ClientForm) async throws -> TokenResponse {
        let clientID = try await authenticate(form)
        switch form.grantType {
        case "authorization_code":
            guard let code = form.code else { throw OAuthError.invalidRequest }
            guard let grant = codes.redeem(code, now: now()), grant.audience == clientID,
                grant.redirectURI == form.redirectURI
            else { throw OAuthError.invalidGrant }
            let refreshToken = "r" + Self.random()
            grants[refreshToken] = grant
            tokens[refreshToken] = refreshToken
            return try await response(for: grant, refreshToken: refreshToken, isNew: true)
        case "refresh_token":
            guard let refreshToken = form.refreshToken else { throw OAuthError.invalidRequest }
            guard let grant = grants[refreshToken], grant.audience == clientID else { throw OAuthError.invalidGrant }
            return try await response(for: grant, refreshToken: refreshToken, isNew: false)
        case "client_credentials":
            guard form.scope == "user.migration" else { throw OAuthError.invalidRequest }
            let token = "m" + Self.random()
            migrationTokens[token] = clientID
            return TokenResponse(access_token: token)
        case nil: throw OAuthError.invalidRequest
        default: throw OAuthError.unsupportedGrantType
        }
    }

    /// Revokes the token's consent. An unknown or revoked token counts as revoked. A caller cannot revoke another
    /// client's token.
    func revoke(_ form: ClientForm) async throws {
        let clientID = try await authenticate(form)
        guard let token = form.token else { throw OAuthError.invalidRequest }
        guard let refreshToken = tokens[token], let grant = grants[refreshToken] else { return }
        guard grant.audience == clientID else { throw OAuthError.invalidGrant }
        grants[refreshToken] = nil
        tokens = tokens.filter { $0.value != refreshToken }
    }

    /// The refresh tokens of a person's consents.
    func refreshTokens(of sub: String) -> [String] {
        grants.filter { $0.value.sub == sub }.map(\.key)
    }

    private func authenticate(_ form: ClientForm) async throws -> String {
        guard let clientID = form.clientID, let secret = form.clientSecret else { throw OAuthError.invalidRequest }
        guard clientSecret.isValid(secret, clientID: clientID, now: now()) else {
            throw OAuthError.invalidClient
        }
        return clientID
    }

    private func response(for grant: Grant, refreshToken: String, isNew: Bool) async throws -> TokenResponse {
        let accessToken = "a" + Self.random()
        tokens[accessToken] = refreshToken
        return TokenResponse(
            access_token: accessToken, refresh_token: isNew ? refreshToken : nil,
            id_token: try keys.current.sign(grant.claims(now: now(), expiresIn: 600)))
    }

    // MARK: - Changing teams

    /// Answers a team's request about one of its users (TN3159).
    func migrate(_ form: ClientForm, bearer: String?) async throws -> MigrationResponse {
        let clientID = try await authenticate(form)
        guard let bearer, migrationTokens[bearer] == clientID,
            let team = clientSecret.team(of: form.clientSecret ?? "", clientID: clientID, now: now())
        else { throw OAuthError.invalidGrant }
        if let transferSub = form.transferSub {
            guard let transfer = transfers.transfer(by: transferSub, to: team) else { throw OAuthError.invalidRequest }
            return MigrationResponse(
                sub: transfer.sub, email: transfer.email, is_private_email: transfer.email.map { _ in true })
        }
        guard let sub = form.sub, let target = form.target, target != team, let person = people[sub] else {
            throw OAuthError.invalidRequest
        }
        return MigrationResponse(transfer_sub: transfer(of: person, to: target).transferSub)
    }

    private func transfer(of person: Grant, to recipient: String) -> TeamTransfers.Transfer {
        transfers.transfer(of: person, to: recipient, newSubject: Self.newSubject) {
            Self.random().prefix(10) + "@privaterelay.appleid.com"
        }
    }

    // MARK: - Notifications

    /// The `payload` of a server-to-server notification.
    func notify(_ request: NotificationRequest) async throws -> NotificationResponse {
        let claims = try NotificationClaims(request, issuer: issuer, audience: audience, now: now())
        return NotificationResponse(payload: try keys.current.sign(claims))
    }

    // MARK: - Random values

    /// In Apple's format: six digits, 32 hexadecimal digits, four digits.
    private static func newSubject() -> String {
        let digits = { (count: Int) in String((0..<count).map { _ in "0123456789".randomElement() ?? "0" }) }
        return "\(digits(6)).\(random()).\(digits(4))"
    }

    private static func random() -> String {
        UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
    }
}
