import Foundation

/// A user as a line of an export says it, and of an import: JSON, with the fields that there are.
struct UserRecord: Codable, Sendable, Equatable {
    /// The link to an Apple account.
    struct Apple: Codable, Sendable, Equatable {
        /// Apple's name for the user, of the team's alone.
        var subject: String
        /// The app's identifier that the user signed in to Apple with.
        var clientId: String
        var email: String?
    }

    /// Kept by an import, so that it may be repeated; without it the user gets a new one.
    var id: UUID?
    var email: String?
    var emailVerified: Bool?
    var phone: String?
    var phoneVerified: Bool?
    var displayName: String?
    var role: String?
    var storeIds: [String]?
    /// `active` or `disabled`.
    var state: String?
    var passwordHash: String?
    var apple: Apple?
    var createdAt: Date?
}
