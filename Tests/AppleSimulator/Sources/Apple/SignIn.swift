/// What `POST /simulator/sign-in` is asked: what Apple knows of the person who touches the button, and what the app
/// asked for.
struct SignInRequest: Codable, Sendable {
    /// A new person unless given.
    var sub: String?
    /// Stands in the token only if given.
    var email: String?
    /// `true` unless given.
    var emailVerified: Bool?
    /// `false` unless given.
    var isPrivateEmail: Bool?
    /// Placed into the token as it is.
    var nonce: String?
    /// The app's bundle identifier; the configured one unless given.
    var audience: String?
    /// Seconds; 600 unless given, may be negative.
    var expiresIn: Int?
    /// The configured one unless given: Apple has two.
    var issuer: String?
    /// Where Apple's page leads to, of a sign-in on the web: its code is exchanged with that address alone.
    var redirectUri: String?
    /// The team that has the app now: `sub` is the name of the former one, and the token has both teams' names.
    var transferredTo: String?
    /// Whether `email_verified` and `is_private_email` are written as strings, as Apple does at times.
    var booleansAsStrings: Bool?
}

/// What the app is given after a sign-in.
struct SignInResponse: Codable, Sendable {
    var identityToken: String
    var authorizationCode: String
    var sub: String
}

/// A person's consent to an app: what codes and refresh tokens stand for.
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
