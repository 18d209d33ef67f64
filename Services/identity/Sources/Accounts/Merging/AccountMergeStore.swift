import Contracts
import Foundation
import Postgres

enum MergeOutcome: Sendable {
    /// - Parameters:
    ///   - account: what the two are now.
    ///   - tasks: in the outbox: the end of the account that goes, and of the sessions of the one that stays.
    case merged(Account, tasks: [OutboxEntry])
    case refused(AccountMerge.Obstacle)
    /// The credentials of one have changed since they were proved.
    case moved
}

/// Makes one account of two, in one transaction.
struct AccountMergeStore: Sendable {
    let database: PostgresPool
    let grants: AppleGrantStore
    let notices: AccountNotices

    /// - Parameters:
    ///   - one: as it was when it was proved; so is `other`.
    ///   - session: goes on, where its account stays. Every other session proves one of the two alone, and ends.
    func merge(
        _ one: Account, _ other: Account, sparing session: UUID, deadline: ContinuousClock.Instant
    ) async throws -> MergeOutcome {
        try await database.withRetriedTransaction(deadline: deadline) { transaction in
            guard try await AccountStore.lock(one, on: transaction),
                try await AccountStore.lockAnother(other.id, on: transaction)
            else { return .moved }
            // A role may have changed since, which is no credential.
            guard let first = try await AccountStore.account(one.id, on: transaction),
                let second = try await AccountStore.account(other.id, on: transaction),
                second.credentialsVersion == other.credentialsVersion
            else { return .moved }
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
            let into = merge.from == first.id ? second : first
            try await moveIdentifiers(from: from.id, to: into.id, on: transaction)
            let grant = try await moveCredentials(from: from, to: into, on: transaction)
            try await finish(from, into, on: transaction)
            guard let version = try await AccountStore.touch(into.id, credentials: true, on: transaction),
                let merged = try await AccountStore.account(into.id, on: transaction)
            else { return .moved }
            let deletion = try await OutboxStore.enqueue(
                .deletion(.revokeSessions), user: from.id, on: transaction,
                sealing: { task in try grant.map { try $0.sealed(by: grants.sealer, for: task) } })
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

    /// The account that goes leaves nothing but the bare id in the audit log, from which others learn where it went.
    private func finish(_ from: Account, _ into: Account, on transaction: PostgresTransaction) async throws {
        try await transaction.query(
            "UPDATE users SET display_name = coalesce(display_name, \(from.displayName)) WHERE id = \(into.id)")
        try await transaction.query("DELETE FROM outbox WHERE user_id = \(from.id)")
        try await AuditLog.record(
            .absorbed, into.id, by: .user, actorID: into.id, detail: from.id.uuidString.lowercased(), on: transaction)
        try await transaction.query("DELETE FROM users WHERE id = \(from.id)")
        for event in [AuditEvent.merged, .deleted] {
            try await AuditLog.record(
                event, from.id, by: .user, actorID: into.id,
                detail: event == .merged ? into.id.uuidString.lowercased() : nil, on: transaction)
        }
    }
}
