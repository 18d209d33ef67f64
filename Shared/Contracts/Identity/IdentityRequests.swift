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
    /// Required if the user has a password.
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
    /// A device on which the user has signed in before has a limit of messages that attackers cannot exhaust.
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

/// The purpose of a code.
public struct CodePurpose: OpenValue {
    /// A session. If no user has the identifier, also an account.
    public static let signIn = Self(rawValue: "signIn")
    /// The identifier of the signed-in user becomes verified.
    public static let verify = Self(rawValue: "verify")

    /// The signed-in user authenticates again.
    public static let stepUp = Self(rawValue: "stepUp")

    /// The account that has verified the identifier is joined with the one that is signed in (`POST /v1/auth/merge`).
    public static let merge = Self(rawValue: "merge")

    public static let known: [Self] = [.signIn, .verify, .stepUp, .merge]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// `POST /v1/auth/code`
public struct CodeRequest: Codable, Sendable {
    /// An e-mail address or a phone number in any usual spelling.
    public var identifier: String
    public var purpose: CodePurpose
    public var device: SessionDevice?

    public init(identifier: String, purpose: CodePurpose, device: SessionDevice? = nil) {
        self.identifier = identifier
        self.purpose = purpose
        self.device = device
    }
}

/// The answer to `POST /v1/auth/code`, the same whether there is an account or not.
public struct CodeResponse: Codable, Sendable, Equatable, Confidential {
    /// Identifies the request for the code. A client that sends it with the code has attempts of its own. The link in
    /// the message works with it. In an answer without a new message, it accepts the link of any open code for the
    /// same identifier and purpose.
    public var codeRequest: String
    /// Seconds for which the code is valid.
    public var expiresIn: Int
    /// Seconds after which the client may request another code.
    public var resendAfter: Int

    public init(codeRequest: String, expiresIn: Int, resendAfter: Int) {
        self.codeRequest = codeRequest
        self.expiresIn = expiresIn
        self.resendAfter = resendAfter
    }
}

/// `POST /v1/auth/code/verify`: the six digits with the identifier or the request that asked, or that request with the
/// token of the link.
public struct VerifyCodeRequest: Codable, Sendable, Confidential {
    /// The identifier to which the code was sent. Optional with `codeRequest`.
    public var identifier: String?
    /// The six digits as the person typed them.
    public var code: String?
    /// ``CodeResponse/codeRequest``, on the device that asked.
    public var codeRequest: String?
    /// The token after the `#` of the link in the message, instead of `code`.
    public var linkToken: String?
    public var device: SessionDevice?

    public init(
        identifier: String? = nil, code: String? = nil, codeRequest: String? = nil, linkToken: String? = nil,
        device: SessionDevice? = nil
    ) {
        self.identifier = identifier
        self.code = code
        self.codeRequest = codeRequest
        self.linkToken = linkToken
        self.device = device
    }
}

/// `PUT /v1/auth/identifiers/{kind}`: the new identifier, with a code that was asked for to `verify` it.
public struct ChangeIdentifierRequest: Codable, Sendable, Confidential {
    /// An e-mail address or a phone number in any usual spelling.
    public var identifier: String
    /// The six digits as the person typed them.
    public var code: String?
    /// ``CodeResponse/codeRequest``, on the device that asked.
    public var codeRequest: String?
    /// The token after the `#` of the link in the message, instead of `code`.
    public var linkToken: String?

    public init(identifier: String, code: String? = nil, codeRequest: String? = nil, linkToken: String? = nil) {
        self.identifier = identifier
        self.code = code
        self.codeRequest = codeRequest
        self.linkToken = linkToken
    }
}

/// `POST /v1/auth/identifiers/undo`
public struct UndoIdentifierChangeRequest: Codable, Sendable, Confidential {
    /// The token from the message to the former identifier.
    public var token: String

    public init(token: String) {
        self.token = token
    }
}

/// The kind of an identifier, with which a user signs in and to which messages are sent.
public struct IdentifierKind: OpenValue {
    public static let email = Self(rawValue: "email")
    public static let phone = Self(rawValue: "phone")

    public static let known: [Self] = [.email, .phone]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// `POST /v1/auth/merge`: one credential of the other account: a password, an identity token, a code or a link.
public struct MergeRequest: Codable, Sendable, Confidential {
    /// The other account's password.
    public var password: String?
    /// With `password`: what the other account is signed in to with. Without it, the password is of an account that has
    /// lost an identifier to this user. With `code`: where it was sent.
    public var identifier: String?
    /// Apple's, of the Apple account that is linked to the other account.
    public var identityToken: String?
    public var nonce: String?
    /// Six digits that were sent to the other account's identifier, asked for to `merge`.
    public var code: String?
    /// ``CodeResponse/codeRequest``, on the device that asked.
    public var codeRequest: String?
    /// The token after the `#` of the link in the message, instead of `code`.
    public var linkToken: String?
    /// For the session that is begun where the other account stays.
    public var device: SessionDevice?

    public init(password: String, identifier: String? = nil, device: SessionDevice? = nil) {
        self.password = password
        self.identifier = identifier
        self.device = device
    }

    public init(identityToken: String, nonce: String? = nil, device: SessionDevice? = nil) {
        self.identityToken = identityToken
        self.nonce = nonce
        self.device = device
    }

    public init(code: String, identifier: String, codeRequest: String? = nil, device: SessionDevice? = nil) {
        self.code = code
        self.identifier = identifier
        self.codeRequest = codeRequest
        self.device = device
    }
}

/// The answer to `POST /v1/auth/merge`.
public struct MergeResponse: Codable, Sendable, Equatable, Confidential {
    /// The merged account: the older one, with its id.
    public var user: User
    /// A session of that user, where it is not the account that was signed in. The session that asked has ended then.
    public var session: AuthResponse?

    public init(user: User, session: AuthResponse? = nil) {
        self.user = user
        self.session = session
    }
}
