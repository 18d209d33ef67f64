/// The request of `POST /simulator/sign-in`: Apple's data about the person who signs in, and the app's request.
struct SignInRequest: Codable, Sendable {
    /// By default a new person.
    var sub: String?
    /// In the token only if given.
    var email: String?
    /// By default `true`.
    var emailVerified: Bool?
    /// By default `false`.
    var isPrivateEmail: Bool?
    /// Copied into the token.
    var nonce: String?
    /// The app's bundle identifier; by default the configured one.
    var audience: String?
    /// In seconds; by default 600; may be negative.
    var expiresIn: Int?
    /// By default the configured one. Apple has two issuers.
    var issuer: String?
    /// The redirect URI of a sign-in on the web. The code can be exchanged only with the same URI.
    var redirectUri: String?
    /// The app's new team. `sub` is the former team's identifier, and the token has the identifiers of both teams.
    var transferredTo: String?
    /// Whether `email_verified` and `is_private_email` are encoded as strings, as Apple sometimes does.
    var booleansAsStrings: Bool?
}

/// The app's data after a sign-in.
struct SignInResponse: Codable, Sendable {
    var identityToken: String
    var authorizationCode: String
    var sub: String
}

/// A person's consent to an app, which codes and refresh tokens represent.
struct Grant: Sendable {
    var sub: String
    var audience: String
    var issuer: String
    var email: String?
    var emailVerified: Bool
    var isPrivateEmail: Bool
    var booleansAsStrings: Bool
    var nonce: String?
    var redirectURI: String?
    var transferSub: String?

    init(_ request: SignInRequest, audience: String, issuer: String, sub: String) {
        self.sub = request.sub ?? sub
        self.audience = request.audience ?? audience
        self.issuer = request.issuer ?? issuer
        email = request.email
        emailVerified = request.emailVerified ?? true
        isPrivateEmail = request.isPrivateEmail ?? false
        booleansAsStrings = request.booleansAsStrings ?? false
        nonce = request.nonce
        redirectURI = request.redirectUri
    }

    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - expiresIn: seconds.
    func claims(now: Int, expiresIn: Int) -> IdentityTokenClaims {
        IdentityTokenClaims(
            iss: issuer, aud: audience, exp: now + expiresIn, iat: now, sub: sub, nonce: nonce, nonce_supported: true,
            email: email,
            email_verified: email.map { _ in AppleBoolean(emailVerified, asString: booleansAsStrings) },
            is_private_email: email.map { _ in AppleBoolean(isPrivateEmail, asString: booleansAsStrings) },
            transfer_sub: transferSub, auth_time: now)
    }
}
