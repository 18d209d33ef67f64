import Contracts
import Foundation

/// A user with what identity alone knows of one.
struct Account: Sendable, Equatable {
    var id: UUID
    var email: String?
    var emailVerified: Bool
    var phone: String?
    var phoneVerified: Bool
    var displayName: String?
    var role: String
    var storeIDs: [String]
    var state: AccountState
    /// Whether there is an address or number that a password can be entered with. `email` does not tell: it may be the
    /// address in Apple's token, which can be another user's identifier here.
    var hasIdentifier: Bool
    var hasPassword: Bool
    var hasApple: Bool
    /// Counts up with every change that clients and other services are shown. tokens keeps the snapshot of the highest.
    var version: Int64
    /// Counts up with every change after which a proof that was made before no longer counts: of the password, the
    /// state, the ways to sign in, or a lost identifier.
    var credentialsVersion: Int64
    var createdAt: Date
    var updatedAt: Date?
    /// Kinds of identifiers that somebody else has proved.
    var lostIdentifiers: [String] = []
    /// Kinds of the user's identifiers that another account has lost to them.
    var mergeableIdentifiers: [String] = []

    /// The user as clients see one.
    var user: User {
        User(
            id: id, email: email, phone: phone, displayName: displayName, emailVerified: emailVerified,
            phoneVerified: phone == nil ? nil : phoneVerified, role: role,
            storeIds: storeIDs, authProviders: providers, createdAt: createdAt, updatedAt: updatedAt,
            lostIdentifiers: lostIdentifiers.isEmpty ? nil : lostIdentifiers.map(IdentifierKind.init(rawValue:)),
            mergeableIdentifiers: mergeableIdentifiers.isEmpty
                ? nil : mergeableIdentifiers.map(IdentifierKind.init(rawValue:)))
    }

    var snapshot: UserSnapshot {
        UserSnapshot(user: user, version: version)
    }

    /// The ways to sign in, in the contract's order.
    var providers: [AuthProvider] {
        (hasApple ? [.apple] : []) + (hasPassword ? [.password] : [])
    }

    /// Whether somebody can sign in to the account.
    /// - Parameter kinds: of identifiers to which codes are sent. A code opens the account whose identifier is proved.
    func isReachable(byCodeTo kinds: Set<Identifier.Kind>) -> Bool {
        hasApple || (hasPassword && hasIdentifier) || isOpenedByCode(to: kinds)
    }

    /// Whether the account can still be signed in to without `provider`.
    /// - Parameter kinds: of identifiers to which codes are sent. A code opens the account whose identifier is proved.
    func isReachable(without provider: AuthProvider, byCodeTo kinds: Set<Identifier.Kind> = []) -> Bool {
        if isOpenedByCode(to: kinds) { return true }
        switch provider {
        case .apple: return hasPassword && hasIdentifier
        case .password: return hasApple
        // Nobody signs in with a provider that this version does not know: without it nothing is missing.
        default: return !providers.isEmpty
        }
    }

    private func isOpenedByCode(to kinds: Set<Identifier.Kind>) -> Bool {
        // Apple forwards mail to such an address only as long as the app is linked.
        let isRelayed = email?.hasSuffix("@privaterelay.appleid.com") == true
        if kinds.contains(.email) && emailVerified && !isRelayed { return true }
        return kinds.contains(.phone) && phoneVerified
    }
}

/// Whether an account may be used. A deleted account has no state, because its row is gone.
enum AccountState: String, Sendable, CaseIterable {
    case active
    case disabled
}
