public import Foundation

// AuthenticationServices, "ASAuthorization"
public final class ASAuthorization: NSObject {
    // AuthenticationServices, "ASAuthorization.Scope"
    public struct Scope: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public static let fullName = Self(rawValue: "full_name")
        public static let email = Self(rawValue: "email")
    }

    // AuthenticationServices, "credential"
    public let credential: any ASAuthorizationCredential

    /// For tests. Apple's type has no public initializer.
    public init(simulated credential: any ASAuthorizationCredential) { self.credential = credential }
}

// AuthenticationServices, "ASAuthorizationCredential"
public protocol ASAuthorizationCredential: NSObjectProtocol {}

// AuthenticationServices, "ASAuthorizationAppleIDCredential"
public final class ASAuthorizationAppleIDCredential: NSObject, ASAuthorizationCredential {
    // AuthenticationServices, "user", "identityToken", "authorizationCode", "fullName", "email"
    public let user: String
    public let identityToken: Data?
    public let authorizationCode: Data?
    public let fullName: PersonNameComponents?
    public let email: String?

    /// For tests. Apple's type has no public initializer.
    public init(
        simulated user: String, identityToken: Data? = nil, authorizationCode: Data? = nil,
        fullName: PersonNameComponents? = nil, email: String? = nil
    ) {
        self.user = user
        self.identityToken = identityToken
        self.authorizationCode = authorizationCode
        self.fullName = fullName
        self.email = email
    }
}

// AuthenticationServices, "ASAuthorizationError"
public struct ASAuthorizationError: Error, CustomNSError {
    // AuthenticationServices, "ASAuthorizationError.Code"
    public enum Code: Int, Sendable {
        case unknown = 1000
        case canceled = 1001
        case invalidResponse = 1002
        case notHandled = 1003
        case failed = 1004
        case notInteractive = 1005
    }

    public let code: Code

    public init(_ code: Code) { self.code = code }

    // AuthenticationServices, "ASAuthorizationErrorDomain"
    public static var errorDomain: String { "com.apple.AuthenticationServices.AuthorizationError" }
    public var errorCode: Int { code.rawValue }
}
