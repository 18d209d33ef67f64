import Foundation
import Postgres

/// What moves from the account that goes to the one that stays.
extension AccountMergeStore {
    /// Moves the identifiers that the account lacks, and sends the links that undo the merge: to every verified
    /// identifier of both, since either side may be a thief's.
    func moveIdentifiers(from: UUID, to into: UUID, on transaction: PostgresTransaction) async throws {
        let own = try await IdentifierStore.all(of: into, on: transaction)
        // From now on the account that goes is where they came from.
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
        // What it has again is no longer lost; what the other has lost too stays lost.
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

    /// - Returns: what has to be revoked at Apple, where both had an Apple account: one user has one.
    func moveCredentials(
        from: Account, to into: Account, on transaction: PostgresTransaction
    ) async throws -> AppleGrant? {
        if !into.hasPassword {
            try await transaction.query("UPDATE passwords SET user_id = \(into.id) WHERE user_id = \(from.id)")
        }
        try await transaction.query(
            """
            UPDATE known_devices d SET user_id = \(into.id) WHERE d.user_id = \(from.id)
                AND NOT EXISTS (SELECT FROM known_devices o WHERE o.user_id = \(into.id) AND o.digest = d.digest)
            """)
        guard from.hasApple else { return nil }
        let grant = try await grants.grant(of: from.id, on: transaction)
        guard !into.hasApple else { return grant }
        // The token is sealed for its user.
        let token = try grant.flatMap { grant in
            try grant.kind == .refreshToken ? grants.sealed(refreshToken: grant.secret, of: into.id) : nil
        }
        try await transaction.query(
            """
            UPDATE apple_identities SET
                user_id = \(into.id), refresh_token = \(token), merged_from = coalesce(merged_from, user_id),
                merged_at = now()
            WHERE user_id = \(from.id)
            """)
        try await transaction.query("UPDATE apple_transfers SET user_id = \(into.id) WHERE user_id = \(from.id)")
        // Left from an Apple account that was unlinked.
        try await transaction.query("DELETE FROM apple_mail_forwarding WHERE user_id = \(into.id)")
        try await transaction.query("UPDATE apple_mail_forwarding SET user_id = \(into.id) WHERE user_id = \(from.id)")
        try await transaction.query(
            "UPDATE outbox SET user_id = \(into.id) WHERE user_id = \(from.id) AND kind = 'exchange_code'")
        return nil
    }
}
