import Contracts
import Foundation

/// A user with what identity alone knows of one.
struct Account: Sendable, Equatable {
    var id: UUID
    var email: String?
    var emailVerified: Bool
    var phone: String?
    var displayName: String?
    var role: String
    var storeIDs: [String]
    var state: AccountState
    /// Whether there is something to sign in with beside a password. `email` alone does not tell: it may be Apple's
    /// word about an address that belongs to somebody else here.
    var hasIdentifier: Bool
    var hasPassword: Bool
    var hasApple: Bool
    /// Moves with everything that others are shown; tokens keeps the highest.
    var version: Int64
    /// Moves whenever a sign-in that was proved before may no longer count.
    var credentialsVersion: Int64
    var createdAt: Date
    var updatedAt: Date?

    /// The user as clients see one.
    var user: User {
        User(
            id: id, email: email, phone: phone, displayName: displayName, emailVerified: emailVerified, role: role,
            storeIds: storeIDs, authProviders: providers, createdAt: createdAt, updatedAt: updatedAt)
    }

    var snapshot: UserSnapshot {
        UserSnapshot(user: user, version: version)
    }

    /// The ways in, in the contract's order.
    var providers: [AuthProvider] {
        (hasApple ? [.apple] : []) + (hasPassword ? [.password] : [])
    }

    /// Whether the account can still be signed in to without `provider`.
    func isReachable(without provider: AuthProvider) -> Bool {
        switch provider {
        case .apple: hasPassword && hasIdentifier
        case .password: hasApple
        // One that this version does not know leads in nowhere, and takes no way in with it.
        default: !providers.isEmpty
        }
    }
}

/// Whether an account may be used. A deleted one has no state: it is not there.
enum AccountState: String, Sendable, CaseIterable {
    case active
    case disabled
}

/// What a sign-in is held against once its session is made.
struct AccountStanding: Sendable, Equatable {
    var state: AccountState
    var version: Int64
    var credentialsVersion: Int64
}

/// How a proof that was made against one state of the account stands after the session was made.
enum SignInOutcome: Equatable {
    /// Nothing moved: the session may be given out.
    case stands
    /// The account was deleted meanwhile: as if it had never been there.
    case gone
    case disabled
    /// The credentials moved: the proof has to be made again.
    case moved

    static func judge(provedAt credentialsVersion: Int64, now: AccountStanding?) -> SignInOutcome {
        guard let now else { return .gone }
        if now.state == .disabled { return .disabled }
        return now.credentialsVersion == credentialsVersion ? .stands : .moved
    }
}
