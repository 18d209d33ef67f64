import Bytes
import Crypto
import Foundation

/// What a person signs in with beside a password.
enum Identifier: Hashable, Sendable {
    case email(EmailAddress)
    case phone(PhoneNumber)

    /// - Parameter home: the country whose national phone numbers are understood; without one they are refused.
    init(_ text: String, home: PhoneRegion? = nil) throws(Refusal) {
        guard text.utf8.count <= 1024, !Text.trimmed(text).isEmpty else {
            throw Refusal("Please enter an e-mail address or a phone number.")
        }
        if text.precomposedStringWithCompatibilityMapping.contains("@") {
            self = .email(try EmailAddress(text))
        } else {
            self = .phone(try PhoneNumber(text, home: home))
        }
    }

    /// One of a certain kind.
    init(_ text: String, of kind: Kind, home: PhoneRegion? = nil) throws(Refusal) {
        self = try Identifier(text, home: home)
        guard self.kind == kind else {
            throw Refusal(kind == .email ? "This is not an e-mail address." : "This is not a phone number.")
        }
    }

    enum Kind: String, Codable, Sendable, CaseIterable {
        case email
        case phone
    }

    var kind: Kind {
        switch self {
        case .email: .email
        case .phone: .phone
        }
    }

    /// The form that is kept and compared.
    var value: String {
        switch self {
        case .email(let address): address.value
        case .phone(let number): number.value
        }
    }
}

/// Who gets an identifier that somebody claims.
///
/// An identifier that its account has not proved goes to the first who proves it; the former account goes on without it.
/// An identifier that is proved stays with the account that proved it first.
enum IdentifierClaim: Equatable {
    /// Nobody has it.
    case free
    /// The claimant has it already.
    case own
    /// It moves from an account that never proved it.
    case takeOver(from: UUID)
    /// It stays with the account that has it.
    case refused

    struct Holder: Equatable, Sendable {
        var userID: UUID
        var isVerified: Bool
    }

    static func decide(holder: Holder?, claimant: UUID, proves: Bool) -> IdentifierClaim {
        guard let holder else { return .free }
        if holder.userID == claimant { return .own }
        return proves && !holder.isVerified ? .takeOver(from: holder.userID) : .refused
    }
}

/// Since when an account has a credential, and from which account the credential came.
struct CredentialOrigin: Sendable, Equatable {
    /// `nil`: since before such times were kept.
    var since: Date?
    /// The account that had it before a merge; `nil`: the account itself.
    var mergedFrom: UUID?
    /// When that account was merged into the present one.
    var mergedAt: Date?
}

/// Undoing a change of an identifier, by whoever reads what is sent to the former one.
///
/// The change may have been a thief's. The undo removes the password, which the thief may know, and every credential of an
/// account that was merged less than ``suspicion`` before the change. It removes every other credential that is not older
/// than the change by ``suspicion``, unless the restored identifier is younger still: of two young credentials, the older
/// one is more likely the owner's.
enum IdentifierUndo {
    /// Seconds for which a change may be undone.
    static let lifetime: TimeInterval = 3 * 86_400
    /// Seconds before the change. A thief may have added a credential of their own first.
    static let suspicion: TimeInterval = 3 * 86_400

    /// What is undone.
    struct Change: Sendable {
        /// The identifier that is restored.
        var former: Identifier
        var origin: CredentialOrigin
        /// When it was changed, removed, or merged.
        var at: Date
    }

    /// What becomes of another change's token.
    enum Fate: Sendable, Equatable {
        case stays
        /// It would undo the undo.
        case ends
        /// It belongs to the other side of a merge, or its identifier is young, but older than the restored one. Either
        /// may be the thief's: using both tokens disables the account.
        case isContested
    }

    /// Whether a credential of the account goes.
    static func removes(_ credential: CredentialOrigin, undoing change: Change) -> Bool {
        isOfOtherAccount(credential, change)
            || isYoung(credential, change) && !isOlderThanRestored(credential, change)
    }

    /// Whether the account's role and stores go. A merge leaves those of the account that stays, which are not the
    /// other side's.
    static func removesRights(undoing change: Change) -> Bool {
        isOfOtherAccount(CredentialOrigin(), change)
    }

    static func fate(of other: Change, undoing change: Change) -> Fate {
        if isOfOtherAccount(other.origin, change) { return .isContested }
        if removes(other.origin, undoing: change) || other.former == change.former { return .ends }
        if isYoung(other.origin, change) { return .isContested }
        return other.former.kind == change.former.kind && other.at >= change.at ? .ends : .stays
    }

    /// Whether the credential came from another account than the restored identifier, by a merge that is not older than
    /// the change by ``suspicion``. Two accounts that were merged before that are one person's.
    private static func isOfOtherAccount(_ credential: CredentialOrigin, _ change: Change) -> Bool {
        guard credential.mergedFrom != change.origin.mergedFrom else { return false }
        let merges = [credential.mergedAt, change.origin.mergedAt].compactMap(\.self)
        return merges.contains { $0 >= change.at.addingTimeInterval(-suspicion) }
    }

    private static func isYoung(_ credential: CredentialOrigin, _ change: Change) -> Bool {
        credential.since.map { $0 >= change.at.addingTimeInterval(-suspicion) } ?? false
    }

    private static func isOlderThanRestored(_ credential: CredentialOrigin, _ change: Change) -> Bool {
        guard let restored = change.origin.since else { return false }
        return credential.since.map { $0 < restored } ?? true
    }
}

/// A token for undoing a change: 256 random bits, of which the hash is kept.
struct UndoToken: Sendable {
    let text: String
    var digest: [UInt8] { Self.digest(text) }

    init() {
        text = "ghiu_" + Base64URL.string([UInt8].random(count: 32))
    }

    static func digest(_ text: String) -> [UInt8] {
        Array(SHA256.hash(data: Data(text.utf8)))
    }
}

/// What has become of a change of somebody's identifier.
enum IdentifierOutcome: Sendable {
    /// - Parameter account: whose identifiers are as they were wanted; of a move, the one that has it now.
    case changed(Account)
    /// Another user has proved it, and keeps it.
    case taken
    /// Without it nobody could sign in to the account any more.
    case lastOne
    /// The user who is to have it has another one of its kind.
    case occupied
    /// The user has none of the kind.
    case missing
    case noSuchUser
}
