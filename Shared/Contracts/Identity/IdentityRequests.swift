/// `POST /v1/auth/apple`
public struct AppleSignInRequest: Codable, Sendable, Confidential {
    /// As Apple's dialog gives it to the app, once.
    public struct FullName: Codable, Sendable {
        public var givenName: String?
        public var familyName: String?

        public init(givenName: String? = nil, familyName: String? = nil) {
            self.givenName = givenName
            self.familyName = familyName
        }
    }

    public var identityToken: String
    public var authorizationCode: String?
    /// Of a code that Sign in with Apple JS gave: where Apple's page led to.
    public var redirectUri: String?
    public var nonce: String?
    public var fullName: FullName?
    /// Never identifies, links or counts as verified: only the identity token does.
    public var email: String?
    public var device: SessionDevice?

    public init(
        identityToken: String, authorizationCode: String? = nil, redirectUri: String? = nil, nonce: String? = nil,
        fullName: FullName? = nil, email: String? = nil, device: SessionDevice? = nil
    ) {
        self.identityToken = identityToken
        self.authorizationCode = authorizationCode
        self.redirectUri = redirectUri
        self.nonce = nonce
        self.fullName = fullName
        self.email = email
        self.device = device
    }
}

/// The answer to `POST /v1/auth/apple/nonce`
public struct AppleNonceResponse: Codable, Sendable, Confidential {
    public var nonce: String
    /// Seconds.
    public var expiresIn: Int

    public init(nonce: String, expiresIn: Int) {
        self.nonce = nonce
        self.expiresIn = expiresIn
    }
}

/// `POST /v1/auth/register`
public struct RegisterRequest: Codable, Sendable, Confidential {
    /// An e-mail address or a phone number in any usual spelling.
    public var identifier: String
    public var password: String
    public var displayName: String?
    public var device: SessionDevice?

    public init(identifier: String, password: String, displayName: String? = nil, device: SessionDevice? = nil) {
        self.identifier = identifier
        self.password = password
        self.displayName = displayName
        self.device = device
    }
}

/// `POST /v1/auth/login`
public struct LoginRequest: Codable, Sendable, Confidential {
    public var identifier: String
    public var password: String
    public var device: SessionDevice?

    public init(identifier: String, password: String, device: SessionDevice? = nil) {
        self.identifier = identifier
        self.password = password
        self.device = device
    }
}

/// `PATCH /v1/auth/me`
public struct UpdateUserRequest: Codable, Sendable {
    public var displayName: String?

    public init(displayName: String?) {
        self.displayName = displayName
    }
}

/// `POST /v1/auth/password`
public struct ChangePasswordRequest: Codable, Sendable, Confidential {
    /// Needed where the user has a password.
    public var currentPassword: String?
    public var newPassword: String

    public init(currentPassword: String? = nil, newPassword: String) {
        self.currentPassword = currentPassword
        self.newPassword = newPassword
    }
}

/// `POST /v1/auth/reauthenticate`: either the password or an identity token.
public struct ReauthenticateRequest: Codable, Sendable, Confidential {
    public var password: String?
    /// Of the Apple account that is linked.
    public var identityToken: String?
    public var nonce: String?

    public init(password: String) {
        self.password = password
    }

    public init(identityToken: String, nonce: String? = nil) {
        self.identityToken = identityToken
        self.nonce = nonce
    }
}

/// `POST /v1/auth/identities/apple`
public struct LinkAppleRequest: Codable, Sendable, Confidential {
    public var identityToken: String
    public var nonce: String?

    public init(identityToken: String, nonce: String? = nil) {
        self.identityToken = identityToken
        self.nonce = nonce
    }
}

/// `POST /v1/auth/password/forgot`
public struct ForgotPasswordRequest: Codable, Sendable {
    public var identifier: String
    /// On a device on which the user has signed in before, attackers cannot use the user's messages up.
    public var device: SessionDevice?

    public init(identifier: String, device: SessionDevice? = nil) {
        self.identifier = identifier
        self.device = device
    }
}

/// `POST /v1/auth/password/reset`
public struct ResetPasswordRequest: Codable, Sendable, Confidential {
    public var token: String
    public var newPassword: String

    public init(token: String, newPassword: String) {
        self.token = token
        self.newPassword = newPassword
    }
}

/// `POST /v1/auth/apple/notifications`, as Apple sends it.
public struct AppleNotificationRequest: Codable, Sendable, Confidential {
    /// A JWS.
    public var payload: String

    public init(payload: String) {
        self.payload = payload
    }
}
