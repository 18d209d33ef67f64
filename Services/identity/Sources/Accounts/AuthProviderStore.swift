import Contracts
import Foundation
import Postgres

enum LinkOutcome: Sendable {
    case linked(Account)
    /// Somebody else has it, or the user has another one.
    case taken
    /// The proof's nonce has served before.
    case nonceSpent
    case noSuchUser
}

enum UnlinkOutcome: Sendable {
    case unlinked(Account)
    case lastOne
    case notLinked
    case noSuchUser
}

extension AccountStore {
    /// Adds Apple's proof to an account, and uses its nonce up. Linking the same one again changes nothing.
    func link(
        _ proof: AppleProof, to userID: UUID, using nonce: NonceUse? = nil, deadline: ContinuousClock.Instant
    ) async throws -> LinkOutcome {
        try await withTransaction(deadline: deadline) { transaction in
            guard try await Self.lock(userID, on: transaction) else { return .noSuchUser }
            if let nonce {
                guard try await NonceStore.use(nonce, on: transaction) else { return .nonceSpent }
            }
            let existing = try await transaction.query(
                """
                SELECT subject, user_id FROM apple_identities
                WHERE subject = \(proof.subject) OR user_id = \(userID)
                """
            ).decode((String, UUID).self)
            if existing.isEmpty {
                guard try await Self.insert(proof, for: userID, on: transaction) else { return .taken }
                if let email = proof.provenEmail {
                    _ = try await Self.adopt(email, for: userID, on: transaction)
                }
                try await Self.touch(userID, credentials: true, on: transaction)
                try await Self.audit(.appleLinked, userID, by: .user, on: transaction)
            } else if existing.count > 1 || existing[0] != (proof.subject, userID) {
                return .taken
            }
            return try await Self.account(userID, on: transaction).map(LinkOutcome.linked) ?? .noSuchUser
        }
    }

    /// The user's own address becomes verified; another one is taken only by who has none.
    private static func adopt(
        _ email: Identifier, for userID: UUID, on transaction: PostgresTransaction
    ) async throws -> Bool {
        let current = try await transaction.query(
            "SELECT value FROM identifiers WHERE user_id = \(userID) AND kind = 'email'"
        ).first?.decode(String.self)
        guard current == nil || current == email.value else { return false }
        return try await claim(email, for: userID, proves: true, actor: .apple, on: transaction)
    }

    /// Removes a way to sign in, unless it is the last. What Apple granted is given back through the outbox.
    func unlink(
        _ provider: AuthProvider, from userID: UUID, actor: AuditActor = .user, sealer: Sealer,
        deadline: ContinuousClock.Instant? = nil
    ) async throws -> UnlinkOutcome {
        try await withTransaction(deadline: deadline) { transaction in
            guard try await Self.lock(userID, on: transaction),
                let account = try await Self.account(userID, on: transaction)
            else { return .noSuchUser }
            guard account.providers.contains(provider) else { return .notLinked }
            guard account.isReachable(without: provider) else { return .lastOne }
            switch provider {
            case .apple:
                if let grant = try await Self.appleGrant(of: userID, sealer: sealer, on: transaction) {
                    try await OutboxStore.enqueue(
                        .deletion(.revokeAtApple), user: nil, dueAtOnce: true, on: transaction,
                        sealing: { try grant.sealed(by: sealer, for: $0) })
                }
                try await transaction.query(
                    "DELETE FROM outbox WHERE user_id = \(userID) AND kind = 'exchange_code'")
                try await transaction.query("DELETE FROM apple_identities WHERE user_id = \(userID)")
                try await Self.audit(.appleUnlinked, userID, by: actor, on: transaction)
            case .password:
                try await transaction.query("DELETE FROM passwords WHERE user_id = \(userID)")
                try await Self.audit(.passwordRemoved, userID, by: actor, on: transaction)
            default:
                // Not reached: an account has none that this version does not know.
                return .notLinked
            }
            try await Self.touch(userID, credentials: true, on: transaction)
            return try await Self.account(userID, on: transaction).map(UnlinkOutcome.unlinked) ?? .noSuchUser
        }
    }
}
