import Foundation

/// Who gets an identifier that somebody asks for.
///
/// An identifier that nobody has proved neither blocks nor joins the one who proves it: the prover gets it, and the
/// account that merely wrote it down goes on without it. What is proved stays with whoever proved it first.
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
