/// `POST /v1/auth/apple`
public struct AppleSignInRequest: Codable, Sendable, Confidential {
    /// The name from Apple's dialog, which the app receives only once.
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
    /// For a code from Sign in with Apple JS: the redirect URI of that sign-in.
    public var redirectUri: String?
    public var nonce: String?
    public var fullName: FullName?
    /// Never identifies a user, links an account or counts as verified. Only the identity token does.
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
    /// The identity token of the linked Apple account.
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
    /// A device on which the user has signed in before has its own limit of messages, which attackers cannot exhaust.
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

/// The purpose of a code.
public struct CodePurpose: OpenValue {
    /// Creates a session, and an account if no user has the identifier.
    public static let signIn = Self(rawValue: "signIn")
    /// Verifies the identifier of the signed-in user.
    public static let verify = Self(rawValue: "verify")

    /// Authenticates the signed-in user again.
    public static let stepUp = Self(rawValue: "stepUp")

    /// Merges the account that has verified the identifier with the signed-in account (`POST /v1/auth/merge`).
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

/// The answer to `POST /v1/auth/code`, the same whether an account exists or not.
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

/// `POST /v1/auth/code/verify`: the six digits with the identifier or with `codeRequest`, or the token of the link with
/// `codeRequest`.
public struct VerifyCodeRequest: Codable, Sendable, Confidential {
    /// The identifier to which the code was sent. Optional with `codeRequest`.
    public var identifier: String?
    /// The six digits as the person typed them.
    public var code: String?
    /// ``CodeResponse/codeRequest``, on the device that requested the code.
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

/// `PUT /v1/auth/identifiers/{kind}`: the new identifier, with a code of the purpose `verify`.
public struct ChangeIdentifierRequest: Codable, Sendable, Confidential {
    /// An e-mail address or a phone number in any usual spelling.
    public var identifier: String
    /// The six digits as the person typed them.
    public var code: String?
    /// ``CodeResponse/codeRequest``, on the device that requested the code.
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
    /// With `password`: an identifier of the other account. Without it, the password belongs to an account that has
    /// lost an identifier to this user. With `code`: the recipient of the code.
    public var identifier: String?
    /// The identity token of the Apple account that is linked to the other account.
    public var identityToken: String?
    public var nonce: String?
    /// Six digits that were sent to the other account's identifier, for the purpose `merge`.
    public var code: String?
    /// ``CodeResponse/codeRequest``, on the device that requested the code.
    public var codeRequest: String?
    /// The token after the `#` of the link in the message, instead of `code`.
    public var linkToken: String?
    /// The device of the new session, which is created if the other account remains.
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
    /// A session of that user, if it is not the account that was signed in. The session of the request has then ended.
    public var session: AuthResponse?

    public init(user: User, session: AuthResponse? = nil) {
        self.user = user
        self.session = session
    }
}
