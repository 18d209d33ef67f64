// Pure: no I/O, no clock.

package import Foundation
import GatehouseBytes
package import GatehouseServiceContracts

/// A user, including the fields that only this service stores.
package struct Account: Sendable, Equatable {
    package var id: UUID
    /// In the form in which addresses are stored.
    package var email: String?
    package var emailVerified: Bool
    package var phone: String?
    package var phoneVerified: Bool
    package var displayName: String?
    package var role: String
    package var storeIDs: [String]
    package var state: AccountState
    /// Whether the account has an address or number for signing in with a password. `email` does not show this: it may
    /// be an address that a provider told.
    package var hasIdentifier: Bool
    var credentials: Set<CredentialName>
    /// Increases with every change that clients and other services see. tokens keeps the snapshot with the highest
    /// version.
    var version: Int64
    /// Increases with every change that invalidates earlier authentication: a change of the password, the state or the
    /// credentials, or the loss of an identifier.
    package var credentialsVersion: Int64
    package var createdAt: Date
    var updatedAt: Date?
    /// Kinds of identifiers that another user has verified.
    var lostIdentifiers: [String] = []
    /// Kinds of the user's identifiers that another account has lost to this user.
    var mergeableIdentifiers: [String] = []

    /// The user as clients see it.
    package var user: User {
        User(
            id: id, email: email.map(EmailAddress.unicode), phone: phone, displayName: displayName,
            emailVerified: emailVerified,
            phoneVerified: phone == nil ? nil : phoneVerified, role: role,
            storeIds: storeIDs, authProviders: providers, createdAt: createdAt, updatedAt: updatedAt,
            lostIdentifiers: lostIdentifiers.isEmpty ? nil : lostIdentifiers.map(IdentifierKind.init(rawValue:)),
            mergeableIdentifiers: mergeableIdentifiers.isEmpty
                ? nil : mergeableIdentifiers.map(IdentifierKind.init(rawValue:)))
    }

    var snapshot: UserSnapshot {
        UserSnapshot(user: user, version: version)
    }

    /// The providers that the user can sign in with, in the contract's order.
    var providers: [AuthProvider] {
        AuthProvider.known.filter { provider in credentials.contains { $0.authProvider == provider } }
    }

    /// Whether the user has verified the identifier.
    func hasVerified(_ identifier: Identifier) -> Bool {
        switch identifier {
        case .email(let address): emailVerified && email?.isVerbatim(address.value) == true
        case .phone(let number): phoneVerified && phone?.isVerbatim(number.value) == true
        }
    }
}

/// Whether an account may be used. A deleted account has no state, because its row is gone.
package enum AccountState: String, Sendable, CaseIterable, Codable {
    case active
    case disabled
}

/// The fields to change in an account; `nil` leaves a field as it is.
package struct AccountChange: Sendable {
    /// `.some(nil)` removes the name.
    package var displayName: DisplayName??
    package var role: Role?
    package var stores: StoreList?

    package init(displayName: DisplayName?? = nil, role: Role? = nil, stores: StoreList? = nil) {
        self.displayName = displayName
        self.role = role
        self.stores = stores
    }
}

/// The user's display name: free text that is shown to other users.
package struct DisplayName: Hashable, Sendable {
    package let value: String

    /// In characters (grapheme clusters).
    package static let maximumLength = 100
    /// In bytes of UTF-8. One character can be a letter with any number of combining marks.
    package static let maximumBytes = 16 * maximumLength

    /// `nil` where the text is blank, which removes the name.
    package static func read(_ text: String) throws(Refusal) -> DisplayName? {
        let trimmed = Text.trimmed(text)
        guard !trimmed.isEmpty else { return nil }
        let tooLong = Refusal("The name is longer than \(maximumLength) characters.")
        // The length is checked first, because the time to normalize grows with the square of the length.
        guard trimmed.utf8.count <= maximumBytes else { throw tooLong }
        let name = trimmed.precomposedStringWithCanonicalMapping
        guard name.utf8.count <= maximumBytes, name.count <= maximumLength else { throw tooLong }
        guard !name.unicodeScalars.contains(where: Text.isDeceptive),
            !name.unicodeScalars.allSatisfy({ Text.isInvisible($0) || $0.properties.isWhitespace })
        else {
            throw Refusal("The name contains characters that cannot be shown.")
        }
        return DisplayName(value: name)
    }
}

/// A user's role in the team's own services. Gatehouse only passes it on, and interprets only the operators' role.
package struct Role: Hashable, Sendable {
    package let name: String

    /// The role of every user who registers.
    package static let user = Role(unchecked: "user")
    /// The role that may administer users, unless the team names another.
    package static let `operator` = Role(unchecked: "operator")

    /// - Parameter name: a lower-case letter, then up to 31 of `a–z 0–9 _ -`: the role is written into access tokens
    ///   and headers.
    package init(_ name: String) throws(Refusal) {
        let scalars = name.unicodeScalars
        guard (1...32).contains(scalars.count), let first = scalars.first, ("a"..."z").contains(first),
            scalars.allSatisfy({
                ("a"..."z").contains($0) || ("0"..."9").contains($0) || $0 == "_" || $0 == "-"
            })
        else {
            throw Refusal("A role is a lower-case letter and up to 31 letters, digits, _ or -.")
        }
        self.name = name
    }

    /// The role that may administer users.
    package init(ofOperators name: String) throws(Refusal) {
        try self.init(name)
        guard self != .user else { throw Refusal("Every user who registers has the role \(name).") }
    }

    private init(unchecked name: String) {
        self.name = name
    }
}

/// A store, site or tenant that a user belongs to, by the team's own name for it.
package struct StoreID: Hashable, Sendable {
    package let value: String

    /// - Parameter value: 1 to 64 visible characters.
    init(_ value: String) throws(Refusal) {
        guard (1...64).contains(value.count), value.utf8.count <= 128,
            !value.unicodeScalars.contains(where: { Text.isInvisible($0) || $0.properties.isWhitespace })
        else {
            throw Refusal("A store is 1 to 64 visible characters without spaces.")
        }
        self.value = value
    }
}

/// The stores of one user. Each access token lists all of them, and each request that the gateway forwards carries them
/// percent-encoded in a header field.
package struct StoreList: Hashable, Sendable {
    package let ids: [StoreID]

    package static let none = StoreList(unchecked: [])

    static let maximumCount = 50
    /// In bytes of the header field, including the commas. A token with this many is not longer than verifiers accept,
    /// and the field fits into a request head of 16 KiB.
    static let maximumLength = 3072

    package init(_ values: [String]) throws(Refusal) {
        guard values.count <= Self.maximumCount else {
            throw Refusal("A user has at most \(Self.maximumCount) stores.")
        }
        var ids: [StoreID] = []
        for value in values { ids.append(try StoreID(value)) }
        let length = Self.length(of: ids)
        guard length <= Self.maximumLength else {
            throw Refusal(
                """
                These stores are too long together: \(length) bytes, of which access tokens have room for \
                \(Self.maximumLength). Other characters than A to Z, a to z, 0 to 9 and - . _ ~ count for three bytes \
                and more.
                """)
        }
        self.ids = ids
    }

    private init(unchecked ids: [StoreID]) {
        self.ids = ids
    }

    /// The length of the percent-encoded names with commas between them.
    private static func length(of ids: [StoreID]) -> Int {
        ids.reduce(max(0, ids.count - 1)) { sum, id in
            id.value.utf8.reduce(sum) { $0 + (isUnreserved($1) ? 1 : 3) }
        }
    }

    /// RFC 3986 §2.3
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "A"..."Z", "a"..."z", "0"..."9", "-", ".", "_", "~": true
        default: false
        }
    }
}
