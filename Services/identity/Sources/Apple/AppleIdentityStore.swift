import Contracts
import Foundation
import Postgres
import ServiceKit

/// What Apple's token says of the user, found good.
struct AppleProof: Sendable {
    var subject: String
    /// The app's identifier that the token was made for.
    var clientID: String
    var email: EmailAddress?
    var emailVerified: Bool
    /// When Apple said so.
    var issuedAt: Date

    init(_ claims: AppleIdentityClaims) {
        subject = claims.subject
        clientID = claims.audience
        // An address that we cannot read is as if Apple had given none: it must not fail a sign-in.
        email = claims.email.flatMap { try? EmailAddress($0) }
        emailVerified = claims.emailVerified
        issuedAt = Date(timeIntervalSince1970: Double(claims.issuedAt))
    }

    /// The address that Apple vouches for.
    var provenEmail: Identifier? {
        emailVerified ? email.map(Identifier.email) : nil
    }
}

extension AccountStore {
    /// The account of Apple's user, made if there is none, with what Apple says now.
    /// - Parameter name: as the app had it from Apple's dialog; kept where the account has none.
    func signIn(
        apple proof: AppleProof, name: DisplayName?, deadline: ContinuousClock.Instant
    ) async throws -> Account {
        // Two devices may make the same account at once: who comes second finds it.
        for _ in 0..<3 {
            if let (account, email) = try await account(appleSubject: proof.subject, deadline: deadline) {
                // Before the session is made, and after the credentials were read that it is made under: Apple's word
                // that the consent has ended finds either this or the sign-in that it must not leave behind.
                try await note(consent: proof, of: account.id, deadline: deadline)
                guard account.state == .active, hasNews(proof, name: name, account: account, email: email) else {
                    return account
                }
                if let updated = try await update(account, from: proof, name: name, deadline: deadline) {
                    return updated
                }
            } else if let account = try await makeAccount(for: proof, name: name, deadline: deadline) {
                return account
            }
        }
        throw StoreConflict()
    }

    private func hasNews(_ proof: AppleProof, name: DisplayName?, account: Account, email: String?) -> Bool {
        (name != nil && account.displayName == nil) || (proof.email != nil && proof.email?.value != email)
            || (proof.provenEmail != nil && !account.emailVerified)
    }

    /// What Apple tells later of a consent that ended before does not concern this one.
    private func note(
        consent proof: AppleProof, of userID: UUID, deadline: ContinuousClock.Instant
    ) async throws {
        try await database.query(
            """
            UPDATE apple_identities SET consented_at = \(proof.issuedAt)
            WHERE subject = \(proof.subject) AND user_id = \(userID)
                AND coalesce(consented_at, '-infinity') < \(proof.issuedAt)
            """, deadline: deadline)
    }

    private func makeAccount(
        for proof: AppleProof, name: DisplayName?, deadline: ContinuousClock.Instant
    ) async throws -> Account? {
        let id = UUID()
        struct Exists: Error {}
        do {
            return try await withTransaction(deadline: deadline) { transaction in
                try await transaction.query("INSERT INTO users (id, display_name) VALUES (\(id), \(name?.value))")
                guard try await Self.insert(proof, for: id, on: transaction) else { throw Exists() }
                if let email = proof.provenEmail {
                    _ = try await Self.claim(email, for: id, proves: true, actor: .apple, on: transaction)
                }
                try await Self.audit(.registered, id, by: .apple, on: transaction)
                return try await Self.account(id, on: transaction)
            }
        } catch is Exists {
            return nil
        }
    }

    /// - Returns: whether nobody had the subject.
    static func insert(_ proof: AppleProof, for userID: UUID, on transaction: PostgresTransaction) async throws -> Bool
    {
        try await transaction.query(
            """
            INSERT INTO apple_identities (subject, user_id, client_id, email, consented_at)
            VALUES (\(proof.subject), \(userID), \(proof.clientID), \(proof.email?.value), \(proof.issuedAt))
            ON CONFLICT (subject) DO NOTHING
            """
        ).affectedRows == 1
    }

    private func update(
        _ account: Account, from proof: AppleProof, name: DisplayName?, deadline: ContinuousClock.Instant
    ) async throws -> Account? {
        try await withTransaction(deadline: deadline) { transaction in
            guard try await Self.lock(account.id, on: transaction) else { return nil }
            let former = try await transaction.query(
                "SELECT email FROM apple_identities WHERE subject = \(proof.subject) AND user_id = \(account.id)"
            ).first
            guard let former, let before = try await Self.account(account.id, on: transaction) else { return nil }
            if let name {
                try await transaction.query(
                    "UPDATE users SET display_name = \(name.value) WHERE id = \(account.id) AND display_name IS NULL")
            }
            if let email = proof.email {
                try await transaction.query(
                    "UPDATE apple_identities SET email = \(email.value) WHERE subject = \(proof.subject)")
            }
            if let email = proof.provenEmail {
                try await Self.follow(email, from: try former.decode(String?.self), for: account.id, on: transaction)
            }
            // An address that somebody else has proved is offered at every sign-in, and each time changes nothing.
            if try await Self.account(account.id, on: transaction) == before { return before }
            try await Self.touch(account.id, credentials: false, on: transaction)
            return try await Self.account(account.id, on: transaction)
        }
    }

    /// Takes over a changed address, unless the user goes by one that never was Apple's.
    private static func follow(
        _ email: Identifier, from former: String?, for userID: UUID, on transaction: PostgresTransaction
    ) async throws {
        let current = try await transaction.query(
            "SELECT value FROM identifiers WHERE user_id = \(userID) AND kind = 'email'"
        ).first?.decode(String.self)
        if let current, current != email.value {
            guard current == former else { return }
            try await transaction.query("DELETE FROM identifiers WHERE user_id = \(userID) AND kind = 'email'")
            guard try await claim(email, for: userID, proves: true, actor: .apple, on: transaction) else {
                // Somebody proved the new one before: the user keeps the old one.
                _ = try await claim(
                    .email(EmailAddress(current)), for: userID, proves: true, actor: .apple, on: transaction)
                return
            }
        } else {
            _ = try await claim(email, for: userID, proves: true, actor: .apple, on: transaction)
        }
    }
}

/// Others changed the same rows each time we tried: the caller may try again.
struct StoreConflict: ProblemConvertible {
    var problem: Problem { Problem(.unavailable) }
}
