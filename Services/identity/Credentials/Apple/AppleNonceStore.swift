import IdentityCore
import Postgres

/// Remembers which nonces have been used (table `used_nonces`).
struct AppleNonceStore: Sendable {
    let database: PostgresPool

    /// Seconds in which a nonce is accepted again with the same token, because the response may have been lost.
    static let retryWindow = 60.0

    /// Whether the nonce can no longer be used.
    func isSpent(_ nonce: SingleUseNonce) async throws -> Bool {
        try await !database.query(
            """
            SELECT digest FROM used_nonces
            WHERE digest = \(nonce.digest) AND NOT (token_digest = \(nonce.tokenDigest)
                AND used_at > now() - make_interval(secs => \(Self.retryWindow)))
            """
        ).isEmpty
    }

    /// - Returns: whether this was the first use, or a repetition of it.
    func spend(_ nonce: SingleUseNonce) async throws -> Bool {
        try await Self.spend(nonce, on: database)
    }

    /// The same within the transaction that the nonce is used for.
    static func spend(_ nonce: SingleUseNonce, on database: some PostgresQuerying) async throws -> Bool {
        try await database.query(
            """
            INSERT INTO used_nonces (digest, token_digest, expires_at)
            VALUES (\(nonce.digest), \(nonce.tokenDigest), to_timestamp(\(Double(nonce.expiresAt))))
            ON CONFLICT (digest) DO UPDATE SET token_digest = EXCLUDED.token_digest
                WHERE used_nonces.token_digest = EXCLUDED.token_digest
                    AND used_nonces.used_at > now() - make_interval(secs => \(Self.retryWindow))
            """
        ).affectedRows == 1
    }
}

extension AppleNonceStore {
    static let expiredRows = [
        // The replicas' clocks decide whether a nonce has expired, and they may differ from the database's.
        ExpiredRows(table: "used_nonces", key: "digest", condition: "expires_at < now() - interval '1 hour'")
    ]
}
