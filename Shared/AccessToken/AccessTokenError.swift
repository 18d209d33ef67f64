/// Why an access token or a key was refused.
///
/// The message is for operators. It never holds a token, a part of one, or a key.
public struct AccessTokenError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of refusal. More may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// Not the one spelling of a token that the signer writes.
        public static let malformed = Code(description: "malformed")
        /// The header's `alg` is not `RS256`, or none of those that another issuer signs with.
        public static let wrongAlgorithm = Code(description: "wrongAlgorithm")
        /// The header's `typ` is not `at+jwt`: a token made for something else (RFC 9068 §4).
        public static let wrongType = Code(description: "wrongType")
        /// No key of the set has the header's `kid`.
        public static let unknownKey = Code(description: "unknownKey")
        public static let badSignature = Code(description: "badSignature")
        public static let wrongIssuer = Code(description: "wrongIssuer")
        public static let wrongAudience = Code(description: "wrongAudience")
        public static let expired = Code(description: "expired")
        public static let notYetValid = Code(description: "notYetValid")
        /// Longer than `AccessTokenVerifier.maximumLength`.
        public static let tooLong = Code(description: "tooLong")
        /// Text that should hold a key holds none that can be read.
        public static let unreadableKey = Code(description: "unreadableKey")
        /// An RSA key that is too small, too large, or has an unsafe exponent.
        public static let weakKey = Code(description: "weakKey")
        /// Two keys of one set have the same `kid`.
        public static let duplicateKey = Code(description: "duplicateKey")
        /// OpenSSL failed for a reason of its own, such as want of memory.
        public static let cryptography = Code(description: "cryptography")
    }

    public let code: Code
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code): \(message)" }
}

extension AccessTokenError {
    static func tooLong() -> AccessTokenError {
        AccessTokenError(.tooLong, "The token is longer than \(AccessTokenVerifier.maximumLength) bytes.")
    }

    static func malformed(_ message: String) -> AccessTokenError {
        AccessTokenError(.malformed, message)
    }
}
