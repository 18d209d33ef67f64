import Contracts
import Foundation
import Postgres
import ServiceKit

/// The kinds of credentials.
struct CredentialRegistry: Sendable {
    let kinds: [any CredentialKind]

    /// What opens accounts now.
    var reachability: Reachability {
        Reachability(
            requirements: kinds.reduce(into: [:]) { requirements, kind in
                requirements[type(of: kind).id] = kind.requirement
            })
    }

    /// - Throws: `UNAVAILABLE` for a kind of another version of the service, which alone can treat it.
    func kind(of credential: Credential) throws(Problem) -> any CredentialKind {
        guard let kind = kinds.first(where: { type(of: $0).id == credential.name.kind }) else {
            throw Problem(.unavailable)
        }
        return kind
    }

    /// Removes a credential of a locked user, and what its kind keeps elsewhere.
    func remove(_ credential: Credential, of userID: UUID, on transaction: PostgresTransaction) async throws {
        try await kind(of: credential).remove(credential, of: userID, on: transaction)
        try await CredentialStore.delete(credential, on: transaction)
    }

    /// Removes all credentials of a locked user.
    func removeAll(of userID: UUID, on transaction: PostgresTransaction) async throws {
        for credential in try await CredentialStore.all(of: userID, on: transaction) {
            try await remove(credential, of: userID, on: transaction)
        }
    }

    /// Gives the credentials of an account to the one that it is merged into. One that the other account has already, of
    /// a kind that a user has once, is removed.
    func merge(from: UUID, into: UUID, on transaction: PostgresTransaction) async throws {
        let held = Set(try await CredentialStore.all(of: into, on: transaction).map(\.name))
        for credential in try await CredentialStore.all(of: from, on: transaction) {
            if credential.isSingle && held.contains(credential.name) {
                try await remove(credential, of: from, on: transaction)
            } else {
                try await CredentialStore.move(credential, to: into, on: transaction)
                try await kind(of: credential).merge(credential, from: from, into: into, on: transaction)
            }
        }
    }

    /// Removes the credentials that an attacker may have added or learned before the change that is undone.
    func remove(undoing change: IdentifierUndo.Change, of userID: UUID, on transaction: PostgresTransaction)
        async throws
    {
        for credential in try await CredentialStore.all(of: userID, on: transaction) {
            guard
                try kind(of: credential).isRemovedByUndo || IdentifierUndo.removes(credential.origin, undoing: change)
            else { continue }
            try await remove(credential, of: userID, on: transaction)
        }
    }
}

/// Removes a credential of a user (`DELETE /v1/auth/identities/{provider}`).
struct Unlinking: Sendable {
    let database: PostgresPool
    let registry: CredentialRegistry

    enum Outcome: Sendable {
        case unlinked(Account)
        /// Removing it would leave the account without a credential.
        case lastOne
        case notLinked
        case noSuchUser
    }

    /// Removes the credentials of the provider, unless they are the last ones.
    /// - Parameter countsIdentifiers: whether an identifier to which codes are sent keeps the account. It does not where
    ///   the provider unlinks the account: the user has not asked to keep it by other means.
    func callAsFunction(
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
