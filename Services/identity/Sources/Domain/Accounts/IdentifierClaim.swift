import Foundation

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
