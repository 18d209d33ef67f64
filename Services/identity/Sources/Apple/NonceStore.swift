import Foundation
import Postgres

/// Remembers which nonces have been used (table `used_nonces`).
struct NonceStore: Sendable {
    let database: PostgresPool

    /// Seconds for which a nonce is accepted again together with the token that it was used with: the answer may have
    /// been lost.
    static let retryWindow = 60.0

    /// Whether it can no longer serve.
    func isSpent(_ use: NonceUse, deadline: ContinuousClock.Instant) async throws -> Bool {
        try await !database.query(
            """
            SELECT digest FROM used_nonces
            WHERE digest = \(use.nonce) AND NOT (token_digest = \(use.token)
                AND used_at > now() - make_interval(secs => \(Self.retryWindow)))
            """, deadline: deadline
        ).isEmpty
    }

    /// - Returns: whether this was the first use, or a repetition of it.
    func use(_ use: NonceUse, deadline: ContinuousClock.Instant) async throws -> Bool {
        try await Self.use(use, on: database, deadline: deadline)
    }

    /// The same within the transaction for which the nonce is used.
    static func use(
        _ use: NonceUse, on database: some PostgresQuerying, deadline: ContinuousClock.Instant? = nil
    ) async throws -> Bool {
        try await database.query(
            """
            INSERT INTO used_nonces (digest, token_digest, expires_at)
            VALUES (\(use.nonce), \(use.token), to_timestamp(\(Double(use.expiresAt))))
            ON CONFLICT (digest) DO UPDATE SET token_digest = EXCLUDED.token_digest
                WHERE used_nonces.token_digest = EXCLUDED.token_digest
                    AND used_nonces.used_at > now() - make_interval(secs => \(Self.retryWindow))
            """, deadline: deadline
        ).affectedRows == 1
    }
}
