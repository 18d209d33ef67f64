// Pure: no I/O, no clock.

import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import IdentityCore

/// Rules for merging two accounts of a person who has authenticated to both.
///
/// The older account stays, because the team's own services have known its id for longer. It keeps what it has, and
/// gets what it lacks from the other.
struct AccountMerge: Sendable, Equatable {
    /// The account that is removed.
    var from: UUID
    /// The account that stays.
    var into: UUID

    /// Why two accounts are not merged.
    enum Obstacle: Error, Equatable {
        /// One of the accounts is disabled.
        case disabled
        /// One has a role or stores that the other lacks, and they do not share a lost identifier. Merging would grant
        /// or remove rights.
        case rights
        /// An identifier of one account was changed recently. Its former owner may have to undo the change, and must
        /// not share the account with another person then.
        case lateChange
    }

    /// - Parameters:
    ///   - hasOpenChange: whether a change of an identifier of either account can still be undone.
    ///   - shareLostIdentifier: whether one account has verified an identifier that the other lost to it. The older
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

    /// Whether the account that stays gets the other's identifier of a kind. A verified identifier takes precedence
    /// over an unverified one.
    /// - Parameters:
    ///   - own: whether the staying account's identifier is verified; `nil` where it has none.
    ///   - other: the same for the account that is removed.
    static func takesOver(own: Bool?, other: Bool?) -> Bool {
        guard let other else { return false }
        guard let own else { return true }
        return other && !own
    }
}
