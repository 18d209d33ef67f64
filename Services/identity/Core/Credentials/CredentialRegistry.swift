package import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
package import Postgres

/// The kinds of credentials.
package struct CredentialRegistry: Sendable {
    package let kinds: [any CredentialKind]

    package init(kinds: [any CredentialKind]) {
        self.kinds = kinds
    }

    /// What opens accounts now.
    package var reachability: Reachability {
        Reachability(
            requirements: kinds.reduce(into: [:]) { requirements, kind in
                requirements[type(of: kind).id] = kind.requirement
            })
    }

    /// - Throws: ``UnknownCredentialKind``.
    func kind(of credential: Credential) throws(UnknownCredentialKind) -> any CredentialKind {
        guard let kind = kinds.first(where: { type(of: $0).id == credential.name.kind }) else {
            throw UnknownCredentialKind()
        }
        return kind
    }

    /// Removes a credential of a locked user, and what its kind keeps elsewhere.
    func remove(_ credential: Credential, of userID: UUID, on transaction: PostgresTransaction) async throws {
        try await kind(of: credential).remove(credential, of: userID, on: transaction)
        try await CredentialStore.delete(credential, on: transaction)
    }

    /// Removes all credentials of a locked user.
    package func removeAll(of userID: UUID, on transaction: PostgresTransaction) async throws {
        for credential in try await CredentialStore.all(of: userID, on: transaction) {
            try await remove(credential, of: userID, on: transaction)
        }
    }

    /// Gives the credentials of an account to the one that it is merged into. One that the other account has already,
    /// of a kind that a user has once, is removed.
    package func merge(from: UUID, into: UUID, on transaction: PostgresTransaction) async throws {
        let existing = Set(try await CredentialStore.all(of: into, on: transaction).map(\.name))
        for credential in try await CredentialStore.all(of: from, on: transaction) {
            if credential.isSingle && existing.contains(credential.name) {
                try await remove(credential, of: from, on: transaction)
            } else {
                try await CredentialStore.move(credential, to: into, on: transaction)
                try await kind(of: credential).merge(credential, from: from, into: into, on: transaction)
            }
        }
    }

    /// Removes the credentials that an attacker may have added or learned before the change that is undone.
    package func remove(undoing change: IdentifierUndo.Change, of userID: UUID, on transaction: PostgresTransaction)
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

/// A newer version of the service has added the credential, and alone can remove or move it.
package struct UnknownCredentialKind: ProblemConvertible {
    var problem: Problem { Problem(.unavailable) }
}
