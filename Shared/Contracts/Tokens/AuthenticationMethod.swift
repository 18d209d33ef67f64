/// How somebody proved who they are: a value of the access token's `amr`, from RFC 8176 where that has one.
public struct AuthenticationMethod: OpenValue {
    public static let password = Self(rawValue: "pwd")
    /// A code or a link that was sent to an address or number of the user's.
    public static let oneTimeCode = Self(rawValue: "otp")
    /// Beside ``oneTimeCode``: it came in a text message.
    public static let textMessage = Self(rawValue: "sms")
    /// Sign in with Apple.
    public static let apple = Self(rawValue: "apple")

    public static let known: [Self] = [.password, .oneTimeCode, .textMessage, .apple]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
