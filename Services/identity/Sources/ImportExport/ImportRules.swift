import Foundation

/// A user to import. The line's values are validated and normalized as they are at a registration.
struct ImportedUser: Sendable, Equatable {
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
    var passwordHash: String?
    var apple: UserRecord.Apple?
    var createdAt: Date?

    /// - Parameters:
    ///   - home: the country whose national phone numbers are accepted.
    ///   - keys: this installation's keys for password hashes.
    /// - Throws: what is wrong with the line.
    init(
        _ record: UserRecord, home: PhoneRegion?, keys: ImportedPasswordHash.Keys, now: Date
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
        passwordHash = try record.passwordHash.map { text throws(Refusal) in
            try ImportedPasswordHash(text, keys: keys)
        }?.text
        apple = record.apple
        if let apple {
            guard (1...255).contains(apple.subject.utf8.count), (1...255).contains(apple.clientId.utf8.count) else {
                throw Refusal("apple.subject and apple.clientId have 1 to 255 bytes.")
            }
            self.apple?.email = try Self.identifier(apple.email, .email, home: home)
        }
        createdAt = record.createdAt
        if let createdAt, createdAt.timeIntervalSince1970 < 0 || createdAt > now {
            throw Refusal("createdAt is before 1970 or in the future.")
        }
        guard email != nil || phone != nil || apple != nil else {
            throw Refusal("One of email, phone and apple is required: the user could not sign in.")
        }
        if passwordHash != nil, email == nil, phone == nil {
            throw Refusal("A passwordHash requires email or phone to sign in with.")
        }
    }

    private static func identifier(
        _ text: String?, _ kind: Identifier.Kind, home: PhoneRegion?
    ) throws(Refusal) -> String? {
        try text.map { text throws(Refusal) in try Identifier(text, of: kind, home: home).value }
    }
}

/// An imported password hash in the form in which it is stored: Gatehouse's own Argon2id, or the hash of another system
/// (``ForeignHash``).
struct ImportedPasswordHash: Sendable, Equatable {
    let text: String

    /// An installation's keys for password hashes.
    struct Keys: Sendable {
        /// By name.
        var peppers: Set<String>
        /// Whether hashes from Firebase can be verified.
        var hasFirebaseSignerKey = false
    }

    init(_ text: String, keys: Keys) throws(Refusal) {
        guard text.utf8.count <= 1024 else { throw Self.unknown }
        if let hash = PasswordHash(text) {
            if let pepper = hash.pepperID, !keys.peppers.contains(pepper) {
                throw Refusal(
                    "passwordHash was made with the pepper \(pepper), which is not in IDENTITY_PEPPER_KEYS_FILE.")
            }
        } else if let hash = ForeignHash(text) {
            if case .firebase(let hash) = hash, hash.signerKey == nil, !keys.hasFirebaseSignerKey {
                throw Refusal("passwordHash was made by Firebase, and IDENTITY_FIREBASE_SIGNER_KEY_FILE is not set.")
            }
        } else {
            throw Self.unknown
        }
        self.text = text
    }

    private static var unknown: Refusal {
        Refusal("passwordHash has no supported form, or needs too much work.")
    }
}

/// What to do with a user in an import.
enum ImportDecision: Equatable, Sendable {
    case create
    /// An earlier import has created the user.
    case exists
    /// Another user has an identifier or the Apple account of this line, or a deleted user had its id.
    case taken(String)

    /// Existing records that match a user.
    struct Found: Equatable, Sendable {
        var hasID: Bool
        /// The users who have the e-mail address, the phone number, and the Apple account.
        var email: UUID?
        var phone: UUID?
        var apple: UUID?
        /// Whether a deleted user had the id. Other services still refuse it.
        var wasDeleted = false
    }

    static func decide(isNamed: Bool, found: Found) -> ImportDecision {
        if found.hasID { return .exists }
        if found.wasDeleted { return .taken("id belonged to a user who was deleted.") }
        let owners = [("email", found.email), ("phone", found.phone), ("apple", found.apple)].compactMap { name, id in
            id.map { (name, $0) }
        }
        guard let first = owners.first else { return .create }
        // Without an id, a user who has all of the line's identifiers counts as the same user.
        if !isNamed, owners.allSatisfy({ $0.1 == first.1 }) { return .exists }
        return .taken("\(first.0) belongs to another user, \(first.1.uuidString.lowercased()).")
    }
}

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
