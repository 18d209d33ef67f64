import Foundation

/// A user in a line of an export or import: JSON, with absent fields left out.
struct UserRecord: Codable, Sendable, Equatable {
    /// The link to an Apple account.
    struct Apple: Codable, Sendable, Equatable {
        /// Apple's identifier for the user, specific to the team.
        var subject: String
        /// The app's identifier that the user signed in to Apple with.
        var clientId: String
        var email: String?
    }

    /// An import keeps the id, so that it can be repeated. Without one the user gets a new id.
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
