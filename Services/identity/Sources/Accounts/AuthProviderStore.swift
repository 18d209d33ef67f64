import Contracts
import Foundation
import Postgres

enum UnlinkOutcome: Sendable {
    case unlinked(Account)
    /// Removing it would leave the account without a credential.
    case lastOne
    case notLinked
    case noSuchUser
}

/// Removes credentials of a user.
struct AuthProviderStore: Sendable {
    let database: PostgresPool
    let grants: AppleGrantStore
    /// Kinds of identifiers to which sign-in codes are sent.
    var codeKinds: Set<Identifier.Kind> = []

    /// Removes a credential, unless it is the last one. The outbox revokes what Apple has granted.
    func unlink(_ provider: AuthProvider, from userID: UUID, actor: AuditActor = .user) async throws -> UnlinkOutcome {
        try await database.withRetriedTransaction { transaction in
            guard let user = try await AccountStore.lock(userID, on: transaction),
                let account = try await AccountStore.account(userID, on: transaction)
            else { return .noSuchUser }
            guard account.providers.contains(provider) else { return .notLinked }
            // Sign-in codes do not count where Apple unlinks the account: the user has not asked to keep it by other
            // means.
            let codes = actor == .apple ? [] : codeKinds
            guard account.isReachable(without: provider, byCodeTo: codes) else { return .lastOne }
            switch provider {
            case .apple:
                if let grant = try await grants.grant(of: userID, on: transaction) {
                    try await grants.enqueueRevocation(of: grant, on: transaction)
                }
                try await AppleIdentityStore.remove(of: userID, on: transaction)
                try await AuditStore.record(.appleUnlinked, userID, by: actor, on: transaction)
            case .password:
                try await PasswordStore.remove(of: userID, on: transaction)
                try await AuditStore.record(.passwordRemoved, userID, by: actor, on: transaction)
            default:
                // Never reached: an account has no provider that this version does not know.
                return .notLinked
            }
            try await AccountStore.touch(user, credentials: true, on: transaction)
            return try await AccountStore.account(userID, on: transaction).map(UnlinkOutcome.unlinked) ?? .noSuchUser
        }
    }
}
