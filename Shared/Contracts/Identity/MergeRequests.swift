/// `POST /v1/auth/merge`: proof of the other account, by one of a password, an identity token, a code or a link.
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
    /// What stands behind the `#` of the link in the message, instead of `code`.
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
    /// What the two accounts are now: the older one, with its id.
    public var user: User
    /// A session of that user, where it is not the account that was signed in. The session that asked has ended then.
    public var session: AuthResponse?

    public init(user: User, session: AuthResponse? = nil) {
        self.user = user
        self.session = session
    }
}
