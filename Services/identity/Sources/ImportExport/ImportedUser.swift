// Pure: no I/O, no clock.

import Foundation
import IdentityCore

/// A user to import. The line's values are validated and normalized as they are at a registration.
struct ImportedUser: Sendable {
    var id: UUID
    /// Whether the line names the id. The same user may then be imported again.
    var isNamed: Bool
    var email: String?
    var emailVerified: Bool
    var phone: String?
    var phoneVerified: Bool
    var displayName: String?
    var role: String
    var storeIDs: [String]
    var state: AccountState
    var credentials: [ImportedCredential]
    var createdAt: Date?

    /// - Parameter home: the country whose national phone numbers are accepted.
    /// - Throws: what is wrong with the line.
    init(
        _ record: UserRecord, home: PhoneRegion?, registry: CredentialRegistry, now: Date
    ) throws(Refusal) {
        id = record.id ?? UUID()
        isNamed = record.id != nil
        email = try Self.identifier(record.email, .email, home: home)
        phone = try Self.identifier(record.phone, .phone, home: home)
        emailVerified = record.emailVerified ?? false
        phoneVerified = record.phoneVerified ?? false
        displayName = try record.displayName.flatMap { text throws(Refusal) in try DisplayName.read(text) }?.value
        role = try record.role.map { name throws(Refusal) in try Role(name) }?.name ?? Role.user.name
        storeIDs = try StoreList(record.storeIds ?? []).ids.map(\.value)
        guard let state = AccountState(rawValue: record.state ?? AccountState.active.rawValue) else {
            throw Refusal("state is active or disabled.")
        }
        self.state = state
        credentials = []
        for kind in registry.kinds {
            if let credential = try kind.read(record, of: id) { credentials.append(credential) }
        }
        createdAt = record.createdAt
        if let createdAt, createdAt.timeIntervalSince1970 < 0 || createdAt > now {
            throw Refusal("createdAt is before 1970 or in the future.")
        }
        guard email != nil || phone != nil || !credentials.isEmpty else {
            throw Refusal("One of email, phone and apple is required: the user could not sign in.")
        }
    }

    /// The credentials that belong to one user at most.
    var subjects: [(name: CredentialName, subject: String)] {
        credentials.compactMap { imported in imported.credential.subject.map { (imported.credential.name, $0) } }
    }

    private static func identifier(
        _ text: String?, _ kind: Identifier.Kind, home: PhoneRegion?
    ) throws(Refusal) -> String? {
        try text.map { text throws(Refusal) in try Identifier(text, of: kind, home: home).value }
    }
}

/// What to do with a user in an import.
enum ImportDecision: Equatable, Sendable {
    case create
    /// An earlier import has created the user.
    case exists
    /// Another user has an identifier or a credential of this line, or a deleted user had its id.
    case taken(String)

    /// Existing records that match a user.
    struct Found: Sendable {
        var hasID: Bool
        /// The users who have the e-mail address, the phone number, and the credentials by their names.
        var email: UUID?
        var phone: UUID?
        var credentials: [(name: String, owner: UUID)] = []
        /// Whether a deleted user had the id. Other services still refuse it.
        var wasDeleted = false
    }

    static func decide(isNamed: Bool, found: Found) -> ImportDecision {
        if found.hasID { return .exists }
        if found.wasDeleted { return .taken("id belonged to a user who was deleted.") }
        let owners =
            [("email", found.email), ("phone", found.phone)].compactMap { name, id in id.map { (name, $0) } }
            + found.credentials.map { ($0.name, $0.owner) }
        guard let first = owners.first else { return .create }
        // Without an id, a user who has all of the line's identifiers counts as the same user.
        if !isNamed, owners.allSatisfy({ $0.1 == first.1 }) { return .exists }
        return .taken("\(first.0) belongs to another user, \(first.1.uuidString.lowercased()).")
    }
}
