package import Foundation

/// A user in a line of an export or import: JSON, with absent fields left out.
package struct UserRecord: Codable, Sendable, Equatable {
    /// The link to an Apple account.
    package struct Apple: Codable, Sendable, Equatable {
        /// Apple's identifier for the user, specific to the team.
        package var subject: String
        /// The app's identifier that the user signed in to Apple with.
        package var clientId: String
        package var email: String?

        package init(subject: String, clientId: String, email: String? = nil) {
            self.subject = subject
            self.clientId = clientId
            self.email = email
        }
    }

    /// An import keeps the id, so that it can be repeated. Without one the user gets a new id.
    package var id: UUID?
    package var email: String?
    package var emailVerified: Bool?
    package var phone: String?
    package var phoneVerified: Bool?
    package var displayName: String?
    package var role: String?
    package var storeIds: [String]?
    /// `active` or `disabled`.
    package var state: String?
    package var passwordHash: String?
    package var apple: Apple?
    package var createdAt: Date?

    package init(
        id: UUID? = nil, email: String? = nil, emailVerified: Bool? = nil, phone: String? = nil,
        phoneVerified: Bool? = nil, displayName: String? = nil, role: String? = nil, storeIds: [String]? = nil,
        state: String? = nil, passwordHash: String? = nil, apple: Apple? = nil, createdAt: Date? = nil
    ) {
        self.id = id
        self.email = email
        self.emailVerified = emailVerified
        self.phone = phone
        self.phoneVerified = phoneVerified
        self.displayName = displayName
        self.role = role
        self.storeIds = storeIds
        self.state = state
        self.passwordHash = passwordHash
        self.apple = apple
        self.createdAt = createdAt
    }
}
