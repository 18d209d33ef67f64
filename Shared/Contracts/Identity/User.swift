public import Foundation

/// A user as clients see one.
public struct User: Codable, Sendable, Equatable {
    @LowercaseUUID public var id: UUID
    public var email: String?
    /// E.164.
    public var phone: String?
    public var displayName: String?
    public var emailVerified: Bool
    /// Absent where the user has no phone number, or where an older identity answers.
    public var phoneVerified: Bool?
    public var role: String
    public var storeIds: [String]
    public var authProviders: [AuthProvider]
    public var createdAt: Date
    public var updatedAt: Date?

    public init(
        id: UUID, email: String? = nil, phone: String? = nil, displayName: String? = nil, emailVerified: Bool = false,
        phoneVerified: Bool? = nil, role: String, storeIds: [String] = [], authProviders: [AuthProvider],
        createdAt: Date, updatedAt: Date? = nil
    ) {
        self.id = id
        self.email = email
        self.phone = phone
        self.displayName = displayName
        self.emailVerified = emailVerified
        self.phoneVerified = phoneVerified
        self.role = role
        self.storeIds = storeIds
        self.authProviders = authProviders
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// A way to sign in.
public struct AuthProvider: OpenValue {
    public static let apple = Self(rawValue: "apple")
    public static let password = Self(rawValue: "password")

    public static let known: [Self] = [.apple, .password]

    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}
