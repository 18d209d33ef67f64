import Contracts
import Foundation
import Postgres

enum UnlinkOutcome: Sendable {
    case unlinked(Account)
    /// Without it nobody could sign in to the account any more.
    case lastOne
    case notLinked
    case noSuchUser
}

/// Removes the ways in which a user signs in.
struct AuthProviderStore: Sendable {
    let database: PostgresPool
    let grants: AppleGrantStore
    /// Kinds of identifiers to which codes for signing in are sent.
    var codeKinds: Set<Identifier.Kind> = []

    /// Removes a way to sign in, unless it is the last. What Apple has granted is revoked by the outbox.
    func unlink(
        _ provider: AuthProvider, from userID: UUID, actor: AuditActor = .user,
        deadline: ContinuousClock.Instant? = nil
    ) async throws -> UnlinkOutcome {
        try await database.withRetriedTransaction(deadline: deadline) { transaction in
            guard try await AccountStore.lock(userID, on: transaction),
                let account = try await AccountStore.account(userID, on: transaction)
            else { return .noSuchUser }
            guard account.providers.contains(provider) else { return .notLinked }
            // Whoever has given the Apple account up has not asked for another way to stay.
            let codes = actor == .apple ? [] : codeKinds
            guard account.isReachable(without: provider, byCodeTo: codes) else { return .lastOne }
            switch provider {
            case .apple:
                if let grant = try await grants.grant(of: userID, on: transaction) {
                    try await grants.enqueueRevocation(of: grant, on: transaction)
                }
                try await AppleIdentityStore.remove(of: userID, on: transaction)
                try await AuditLog.record(.appleUnlinked, userID, by: actor, on: transaction)
            case .password:
                try await PasswordStore.remove(of: userID, on: transaction)
                try await AuditLog.record(.passwordRemoved, userID, by: actor, on: transaction)
            default:
                // Never reached: an account has no provider that this version does not know.
                return .notLinked
            }
            try await AccountStore.touch(userID, credentials: true, on: transaction)
            return try await AccountStore.account(userID, on: transaction).map(UnlinkOutcome.unlinked) ?? .noSuchUser
        }
    }
}
