import Bytes
import Contracts
import Foundation

/// Making one account of two, for a person who has proved both.
///
/// The older one stays: services of the team's own know its id for longer. It keeps what it has, and gets what it lacks.
struct AccountMerge: Sendable, Equatable {
    /// Which account goes.
    var from: UUID
    /// Which account stays.
    var into: UUID

    /// Why two accounts are not merged.
    enum Obstacle: Error, Equatable {
        /// One of them is disabled.
        case disabled
        /// One has a role or stores that the other lacks, and they do not share a lost identifier. Merging would give or
        /// take rights.
        case rights
        /// An identifier of one was changed a short time ago. Whoever had it may have to undo that, and then shares the
        /// account with nobody.
        case lateChange
    }

    /// - Parameters:
    ///   - hasOpenChange: whether a change of an identifier can still be undone, of either.
    ///   - shareLostIdentifier: whether one has verified an identifier that the other has lost by that. The older
    ///     account's role and stores stay then.
    static func decide(
        _ one: Account, _ other: Account, hasOpenChange: Bool, shareLostIdentifier: Bool = false
    ) throws(Obstacle) -> AccountMerge {
        guard one.state == .active, other.state == .active else { throw .disabled }
        let haveSameRights =
            one.role.utf8.elementsEqual(other.role.utf8) && Set(verbatim: one.storeIDs) == Set(verbatim: other.storeIDs)
        guard haveSameRights || shareLostIdentifier else { throw .rights }
        guard !hasOpenChange else { throw .lateChange }
        let isOlder =
            one.createdAt == other.createdAt ? one.id.uuidString < other.id.uuidString : one.createdAt < other.createdAt
        return isOlder ? AccountMerge(from: other.id, into: one.id) : AccountMerge(from: one.id, into: other.id)
    }

    /// Whether the account that stays gets the other's identifier of a kind: one that is proved goes before one that is
    /// not.
    /// - Parameters:
    ///   - own: whether its own is proved; `nil` where it has none.
    ///   - other: the same of the account that goes.
    static func takesOver(own: Bool?, other: Bool?) -> Bool {
        guard let other else { return false }
        guard let own else { return true }
        return other && !own
    }
}
