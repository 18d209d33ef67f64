/// `PUT /v1/auth/identifiers/{kind}`: the new identifier, with a code that was asked for to `verify` it.
public struct ChangeIdentifierRequest: Codable, Sendable, Confidential {
    /// An e-mail address or a phone number in any usual spelling.
    public var identifier: String
    /// The six digits as the person typed them.
    public var code: String?
    /// ``CodeResponse/codeRequest``, on the device that asked.
    public var codeRequest: String?
    /// What stands behind the `#` of the link in the message, instead of `code`.
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
    /// What the message to the former identifier holds.
    public var token: String

    public init(token: String) {
        self.token = token
    }
}

/// What a user is reached at and signs in with.
public struct IdentifierKind: OpenValue {
    public static let email = Self(rawValue: "email")
    public static let phone = Self(rawValue: "phone")

    public static let known: [Self] = [.email, .phone]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
