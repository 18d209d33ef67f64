import Foundation

/// What becomes of a user whom an import brings.
enum ImportVerdict: Equatable, Sendable {
    case create
    /// An import before has made the user.
    case exists
    /// Somebody else has what the line says is this user's.
    case taken(String)

    /// What there is already of a user.
    struct Found: Equatable, Sendable {
        var hasID: Bool
        /// Who has the e-mail address, the phone number, the Apple account.
        var email: UUID?
        var phone: UUID?
        var apple: UUID?
        /// Whether the id was that of a user who has been deleted. Other services go on to refuse it.
        var wasDeleted = false
    }

    static func decide(isNamed: Bool, found: Found) -> ImportVerdict {
        if found.hasID { return .exists }
        if found.wasDeleted { return .taken("id belonged to a user who was deleted.") }
        let owners = [("email", found.email), ("phone", found.phone), ("apple", found.apple)].compactMap { name, id in
            id.map { (name, $0) }
        }
        guard let first = owners.first else { return .create }
        // Without an id, whoever has all of it is taken for the same user.
        if !isNamed, owners.allSatisfy({ $0.1 == first.1 }) { return .exists }
        return .taken("\(first.0) belongs to another user, \(first.1.uuidString.lowercased()).")
    }
}
