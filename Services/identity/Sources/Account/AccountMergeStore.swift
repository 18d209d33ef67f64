import Foundation
import GatehouseServiceContracts
import IdentityCore
import Postgres

enum MergeOutcome: Sendable {
    /// - Parameters:
    ///   - account: the account that stays, after the merge.
    ///   - tasks: tasks in the outbox that end the removed account, and the sessions of the account that stays.
    case merged(Account, tasks: [OutboxEntry])
    case refused(AccountMerge.Obstacle)
    /// The credentials of one account have changed since it was verified.
    case credentialsChanged
}

/// Merges two accounts in one transaction.
struct AccountMergeStore: Sendable {
    let database: PostgresPool
    let registry: CredentialRegistry
    let notices: AccountNotices

    /// - Parameters:
    ///   - one: the account as it was when its user was verified; so is `other`.
    ///   - session: stays valid, if its account stays. Every other session authenticates only one of the two accounts,
    ///     and ends.
    func merge(_ one: Account, _ other: Account, sparing session: UUID) async throws -> MergeOutcome {
        try await database.withRetriedTransaction { transaction in
            guard let firstUser = try await AccountStore.lock(one, on: transaction),
                let secondUser = try await AccountStore.lockAnother(other.id, on: transaction)
            else { return .credentialsChanged }
            // Read again: the role may have changed since, without a change of the credentials.
            guard let first = try await AccountStore.account(one.id, on: transaction),
                let second = try await AccountStore.account(other.id, on: transaction),
                second.credentialsVersion == other.credentialsVersion
            else { return .credentialsChanged }
            let hasOpenChange = try await Self.hasOpenChange(first.id, second.id, on: transaction)
            let shareLostIdentifier = try await Self.shareLostIdentifier(first.id, second.id, on: transaction)
            let merge: AccountMerge
            do throws(AccountMerge.Obstacle) {
                merge = try AccountMerge.decide(
                    first, second, hasOpenChange: hasOpenChange, shareLostIdentifier: shareLostIdentifier)
            } catch {
                return .refused(error)
            }
            let from = merge.from == first.id ? first : second
            let (into, user) = merge.from == first.id ? (second, secondUser) : (first, firstUser)
            try await moveIdentifiers(from: from.id, to: into.id, on: transaction)
            try await registry.merge(from: from.id, into: into.id, on: transaction)
            try await KnownDeviceStore.move(from: from.id, to: into.id, on: transaction)
            try await finish(from, into, on: transaction)
            guard let version = try await AccountStore.touch(user, credentials: true, on: transaction),
                let merged = try await AccountStore.account(into.id, on: transaction)
            else { return .credentialsChanged }
            let deletion = try await OutboxStore.enqueue(
                .deletion(.revokeSessions), user: from.id, on: transaction)
            let revocation = try await OutboxStore.enqueue(
                .revokeSessions(reason: .passwordChanged, except: session, below: version), user: into.id,
                on: transaction)
            return .merged(merged, tasks: [deletion, revocation])
        }
    }

    private static func hasOpenChange(
        _ one: UUID, _ other: UUID, on transaction: PostgresTransaction
    ) async throws -> Bool {
        try await !transaction.query(
            """
            SELECT digest FROM identifier_changes
            WHERE user_id IN (\(one), \(other)) AND NOT is_merge AND expires_at > now() LIMIT 1
            """
        ).isEmpty
    }

    private static func shareLostIdentifier(
        _ one: UUID, _ other: UUID, on transaction: PostgresTransaction
    ) async throws -> Bool {
        try await !transaction.query(
            """
            SELECT l.kind FROM lost_identifiers l
            JOIN identifiers i ON i.kind = l.kind AND i.value = l.value AND i.verified
            WHERE (l.user_id, i.user_id) IN ((\(one), \(other)), (\(other), \(one))) LIMIT 1
            """
        ).isEmpty
    }

    /// The removed account leaves only its bare id in the audit log, from which other services learn which account
    /// replaces it.
    private func finish(_ from: Account, _ into: Account, on transaction: PostgresTransaction) async throws {
        try await transaction.query(
            "UPDATE users SET display_name = coalesce(display_name, \(from.displayName)) WHERE id = \(into.id)")
        try await transaction.query("DELETE FROM outbox WHERE user_id = \(from.id)")
        try await AuditStore.record(
            .absorbed, into.id, by: .user, actorID: into.id, detail: from.id.uuidString.lowercased(), on: transaction)
        try await transaction.query("DELETE FROM users WHERE id = \(from.id)")
        for event in [AuditEvent.merged, .deleted] {
            try await AuditStore.record(
                event, from.id, by: .user, actorID: into.id,
                detail: event == .merged ? into.id.uuidString.lowercased() : nil, on: transaction)
        }
    }
}

/// Moves data from the removed account to the account that stays.
extension AccountMergeStore {
    /// Moves the identifiers that the account lacks, and sends links that undo the merge to every verified identifier
    /// of both accounts, because either side may be an attacker's.
    func moveIdentifiers(from: UUID, to into: UUID, on transaction: PostgresTransaction) async throws {
        let own = try await IdentifierStore.all(of: into, on: transaction)
        // Records the removed account as their origin.
        try await transaction.query(
            """
            UPDATE identifiers SET merged_from = coalesce(merged_from, user_id), merged_at = now()
            WHERE user_id = \(from)
            """)
        try await transaction.query(
            """
            UPDATE identifier_changes SET
                user_id = \(into), merged_from = coalesce(merged_from, user_id), merged_at = now()
            WHERE user_id = \(from)
            """)
        let others = try await IdentifierStore.all(of: from, on: transaction)
        for kind in Identifier.Kind.allCases {
            let mine = own.first { $0.identifier.kind == kind }
            let other = others.first { $0.identifier.kind == kind }
            let isMoved = AccountMerge.takesOver(own: mine?.isVerified, other: other?.isVerified)
            if isMoved {
                try await IdentifierStore.delete(kind, of: into, on: transaction)
                try await transaction.query(
                    "UPDATE identifiers SET user_id = \(into) WHERE user_id = \(from) AND kind = \(kind.rawValue)")
            }
            if let mine { try await notices.merged(mine, into: into, isKept: !isMoved, on: transaction) }
            if let other { try await notices.merged(other, into: into, isKept: isMoved, on: transaction) }
        }
        // An identifier that the account has again is no longer lost. One that the other has lost too stays lost.
        try await transaction.query(
            """
            DELETE FROM lost_identifiers l WHERE l.user_id = \(into)
                AND EXISTS (SELECT FROM identifiers i WHERE i.user_id = l.user_id AND i.kind = l.kind)
            """)
        try await transaction.query(
            """
            UPDATE lost_identifiers l SET user_id = \(into) WHERE l.user_id = \(from)
                AND NOT EXISTS (SELECT FROM identifiers i WHERE i.user_id = \(into) AND i.kind = l.kind)
                AND NOT EXISTS (SELECT FROM lost_identifiers o WHERE o.user_id = \(into) AND o.kind = l.kind)
            """)
    }
}
