// Pure: no I/O, no clock.

package import Foundation

/// An e-mail address or phone number that a user signs in with.
package enum Identifier: Hashable, Sendable {
    case email(EmailAddress)
    case phone(PhoneNumber)

    /// - Parameter home: the country whose national phone numbers are accepted; without one they are refused.
    package init(_ text: String, home: PhoneRegion? = nil) throws(Refusal) {
        guard text.utf8.count <= 1024, !Text.trimmedOfMarks(text).isEmpty else {
            throw Refusal("Please enter an e-mail address or a phone number.")
        }
        if text.precomposedStringWithCompatibilityMapping.contains("@") {
            self = .email(try EmailAddress(text))
        } else {
            self = .phone(try PhoneNumber(text, home: home))
        }
    }

    /// Reads an identifier of the given kind.
    package init(_ text: String, of kind: Kind, home: PhoneRegion? = nil) throws(Refusal) {
        self = try Identifier(text, home: home)
        guard self.kind == kind else {
            throw Refusal(kind == .email ? "This is not an e-mail address." : "This is not a phone number.")
        }
    }

    package enum Kind: String, Codable, Sendable, CaseIterable {
        case email
        case phone
    }

    package var kind: Kind {
        switch self {
        case .email: .email
        case .phone: .phone
        }
    }

    /// Whether it is an address of Apple's (``EmailAddress/isRelay(_:)``).
    var isRelay: Bool { kind == .email && EmailAddress.isRelay(value) }

    /// The form that is stored and compared.
    package var value: String {
        switch self {
        case .email(let address): address.value
        case .phone(let number): number.value
        }
    }
}

/// Decides which user gets a claimed identifier.
///
/// An identifier that its account has not verified goes to the first user who verifies it; the former account continues
/// without it. A verified identifier stays with the account that verified it first.
enum IdentifierClaim: Equatable {
    /// No user has it.
    case free
    /// The claimant already has it.
    case own
    /// It moves from an account that never verified it.
    case takeOver(from: UUID)
    /// It stays with the account that has it.
    case refused

    struct Holder: Equatable, Sendable {
        var userID: UUID
        var isVerified: Bool
    }

    static func decide(holder: Holder?, claimant: UUID, isVerified: Bool) -> IdentifierClaim {
        guard let holder else { return .free }
        if holder.userID == claimant { return .own }
        return isVerified && !holder.isVerified ? .takeOver(from: holder.userID) : .refused
    }
}

/// When an account got a credential, and from which account the credential came.
package struct CredentialOrigin: Sendable, Equatable {
    /// `nil`: before such times were recorded.
    package var since: Date?
    /// The account that had it before a merge; `nil`: it always belonged to this account.
    package var mergedFrom: UUID?
    /// When that account was merged into the present one.
    package var mergedAt: Date?

    package init(since: Date? = nil, mergedFrom: UUID? = nil, mergedAt: Date? = nil) {
        self.since = since
        self.mergedFrom = mergedFrom
        self.mergedAt = mergedAt
    }
}

/// Rules for undoing a change of an identifier with the link that was sent to the former one.
///
/// An attacker may have made the change. The undo removes the password, which the attacker may know, and every
/// credential of an account that was merged less than ``suspicion`` before the change. It removes every other
/// credential that is not older than the change by ``suspicion``, unless the restored identifier is younger still: of
/// two young credentials, the older one is more likely the owner's.
package enum IdentifierUndo {
    /// Seconds before the change. An attacker may have added a credential first.
    static let suspicion: TimeInterval = 3 * 86_400

    /// The change to undo.
    package struct Change: Sendable {
        /// The identifier that is restored.
        package var former: Identifier
        package var origin: CredentialOrigin
        /// When the identifier was changed, removed, or merged.
        var at: Date
        var accountCreatedAt: Date

        package init(former: Identifier, origin: CredentialOrigin, at: Date, accountCreatedAt: Date) {
            self.former = former
            self.origin = origin
            self.at = at
            self.accountCreatedAt = accountCreatedAt
        }
    }

    /// What happens to another change's token.
    package enum Fate: Sendable, Equatable {
        case stays
        /// Using it would undo the undo.
        case ends
        /// It belongs to the other side of a merge, or to the credential that a young account was created with. Either
        /// may be the attacker's. Using both tokens disables the account.
        case isContested
    }

    /// Whether the undo removes a credential of the account.
    package static func removes(_ credential: CredentialOrigin, undoing change: Change) -> Bool {
        isOfOtherAccount(credential, change)
            || isYoung(credential, change) && !isFirst(credential, change)
    }

    /// Whether the undo removes the account's role and stores. After a merge they stay, because they belong to the
    /// account that stayed and not to the other side.
    package static func removesRights(undoing change: Change) -> Bool {
        isOfOtherAccount(CredentialOrigin(), change)
    }

    package static func fate(of other: Change, undoing change: Change) -> Fate {
        if isOfOtherAccount(other.origin, change) { return .isContested }
        if removes(other.origin, undoing: change) || other.former == change.former { return .ends }
        if isYoung(other.origin, change) { return .isContested }
        return other.former.kind == change.former.kind && other.at >= change.at ? .ends : .stays
    }

    /// Whether the credential came from another account than the restored identifier, by a merge that is not older than
    /// the change by ``suspicion``. Accounts that were merged earlier count as one person's.
    private static func isOfOtherAccount(_ credential: CredentialOrigin, _ change: Change) -> Bool {
        guard credential.mergedFrom != change.origin.mergedFrom else { return false }
        let merges = [credential.mergedAt, change.origin.mergedAt].compactMap(\.self)
        return merges.contains { $0 >= change.at.addingTimeInterval(-suspicion) }
    }

    private static func isYoung(_ credential: CredentialOrigin, _ change: Change) -> Bool {
        credential.since.map { $0 >= change.at.addingTimeInterval(-suspicion) } ?? false
    }

    /// Whether the account was created with the credential, and the restored one was added later. An attacker who has
    /// added a credential cannot remove the owner's first one with it.
    private static func isFirst(_ credential: CredentialOrigin, _ change: Change) -> Bool {
        guard let restored = change.origin.since, let since = credential.since else { return false }
        return since < restored && since <= change.accountCreatedAt
    }
}
