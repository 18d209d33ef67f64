import Bytes
import Crypto
import Foundation

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
/// The change may have been a thief's. The undo removes the password, which the thief may know, every credential that is
/// not older than the change by ``suspicion``, and every credential of an account that was merged within that time.
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
        /// It belongs to the other side of a merge. Either side may be the thief's: nobody can tell which.
        case isContested
    }

    /// Whether a credential of the account goes.
    static func removes(_ credential: CredentialOrigin, undoing change: Change) -> Bool {
        isOfOtherAccount(credential, change) || isYoung(credential, change)
    }

    static func fate(of other: Change, undoing change: Change) -> Fate {
        if isOfOtherAccount(other.origin, change) { return .isContested }
        if isYoung(other.origin, change) || other.former == change.former { return .ends }
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
