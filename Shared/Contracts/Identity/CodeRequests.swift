/// What a code is asked for.
public struct CodePurpose: OpenValue {
    /// A session, and an account where nobody has the identifier.
    public static let signIn = Self(rawValue: "signIn")
    /// The identifier of the user who is signed in counts as proved.
    public static let verify = Self(rawValue: "verify")

    /// The user who is signed in has proved again who they are.
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
    /// Names the request that asked. Who shows it beside the code has tries of their own, and the link in the message
    /// works with it alone.
    public var codeRequest: String
    /// Seconds for which the code is valid.
    public var expiresIn: Int
    /// Seconds after which another code may be asked for.
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
    /// Where the code was sent. May be left out beside `codeRequest`.
    public var identifier: String?
    /// The six digits as the person typed them.
    public var code: String?
    /// ``CodeResponse/codeRequest``, on the device that asked.
    public var codeRequest: String?
    /// What stands behind the `#` of the link in the message, instead of `code`.
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
