import Foundation

/// A user whom an import is to make: what the line says, checked and normalised as it would be at a registration.
struct ImportedUser: Sendable, Equatable {
    var id: UUID
    /// Whether the line names the id: then the same user may be imported again.
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
    ///   - home: the country whose national phone numbers are understood.
    ///   - keys: those that this installation has for hashes of passwords.
    /// - Throws: what is wrong with the line.
    init(_ record: UserRecord, home: PhoneRegion?, keys: ImportedPasswordHash.Keys) throws(Refusal) {
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
        if let createdAt, createdAt.timeIntervalSince1970 < 0 || createdAt > .now {
            throw Refusal("createdAt is before 1970 or in the future.")
        }
        guard email != nil || phone != nil || apple != nil else {
            throw Refusal("There is neither email nor phone nor apple: nobody could sign in.")
        }
        if passwordHash != nil, email == nil, phone == nil {
            throw Refusal("There is a passwordHash, and neither email nor phone to sign in with.")
        }
    }

    private static func identifier(
        _ text: String?, _ kind: Identifier.Kind, home: PhoneRegion?
    ) throws(Refusal) -> String? {
        try text.map { text throws(Refusal) in try Identifier(text, of: kind, home: home).value }
    }
}
