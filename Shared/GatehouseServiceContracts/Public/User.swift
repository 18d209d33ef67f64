public import Foundation

/// A user as clients see one.
public struct User: Codable, Sendable, Equatable, Identifiable {
    @LowercaseUUID public var id: UUID
    public var email: String?
    /// E.164.
    public var phone: String?
    public var displayName: String?
    public var emailVerified: Bool
    /// Absent if the user has no phone number, and from an older version of identity.
    public var phoneVerified: Bool?
    public var role: String
    public var storeIds: [String]
    public var authProviders: [AuthProvider]
    public var createdAt: Date
    public var updatedAt: Date?
    /// Kinds of the user's former unverified identifiers that another user has verified. The user may add another one,
    /// or verify that it is theirs too: `POST /v1/auth/merge`. Absent if none.
    public var lostIdentifiers: [IdentifierKind]?
    /// Kinds of the user's identifiers that another account had before, unverified. A user who knows that account's
    /// password may merge the two accounts: `POST /v1/auth/merge`. Absent if none.
    public var mergeableIdentifiers: [IdentifierKind]?

    public init(
        id: UUID, email: String? = nil, phone: String? = nil, displayName: String? = nil, emailVerified: Bool = false,
        phoneVerified: Bool? = nil, role: String, storeIds: [String] = [], authProviders: [AuthProvider],
        createdAt: Date, updatedAt: Date? = nil, lostIdentifiers: [IdentifierKind]? = nil,
        mergeableIdentifiers: [IdentifierKind]? = nil
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
        self.lostIdentifiers = lostIdentifiers
        self.mergeableIdentifiers = mergeableIdentifiers
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
