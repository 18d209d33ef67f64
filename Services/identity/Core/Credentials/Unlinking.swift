package import Foundation
package import GatehouseServiceContracts
package import Postgres

/// Removes a credential of a user (`DELETE /v1/auth/identities/{provider}`).
package struct Unlinking: Sendable {
    let database: PostgresPool
    let registry: CredentialRegistry

    package init(database: PostgresPool, registry: CredentialRegistry) {
        self.database = database
        self.registry = registry
    }

    package enum Outcome: Sendable {
        case unlinked(Account)
        /// Removing it would leave the account without a credential.
        case lastOne
        case notLinked
        case noSuchUser
    }

    /// Removes the credentials of the provider, unless they are the last ones.
    /// - Parameter countsIdentifiers: whether an identifier to which codes are sent keeps the account. It does not
    ///   where the provider unlinks the account: the user has not asked to keep it by other means.
    package func callAsFunction(
        _ provider: AuthProvider, from userID: UUID, actor: AuditActor = .user, countsIdentifiers: Bool = true
    ) async throws -> Outcome {
        let reachability = countsIdentifiers ? registry.reachability : registry.reachability.byCredentials
        return try await database.withRetriedTransaction { transaction in
            guard let user = try await AccountStore.lock(userID, on: transaction),
                let account = try await AccountStore.account(userID, on: transaction)
            else { return .noSuchUser }
            guard let name = account.credentials.first(where: { $0.authProvider == provider }) else {
                return .notLinked
            }
            guard reachability.opens(account, without: name) else { return .lastOne }
            for credential in try await CredentialStore.all(of: userID, on: transaction) where credential.name == name {
                try await registry.remove(credential, of: userID, on: transaction)
                try await AuditStore.record(
                    registry.kind(of: credential).unlinkedEvent, userID, by: actor, on: transaction)
            }
            try await AccountStore.touch(user, credentials: true, on: transaction)
            return try await AccountStore.account(userID, on: transaction).map(Outcome.unlinked) ?? .noSuchUser
        }
    }
}
