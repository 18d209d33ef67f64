/// The claims of an identity token, as Apple names them.
struct IdentityTokenClaims: Codable, Sendable {
    var iss: String
    var aud: String
    var exp: Int
    var iat: Int
    var sub: String
    var nonce: String?
    var nonce_supported: Bool
    var email: String?
    var email_verified: AppleBoolean?
    var is_private_email: AppleBoolean?
    /// Set after the app has changed teams: the person's identifier that both teams know.
    var transfer_sub: String?
    var auth_time: Int
}

/// A claim that Apple encodes either as `true` or as `"true"`.
struct AppleBoolean: Codable, Sendable {
    var value: Bool
    var asString: Bool

    init(_ value: Bool, asString: Bool) {
        self.value = value
        self.asString = asString
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self.init(text == "true", asString: true)
        } else {
            self.init(try container.decode(Bool.self), asString: false)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if asString {
            try container.encode(value ? "true" : "false")
        } else {
            try container.encode(value)
        }
    }
}
