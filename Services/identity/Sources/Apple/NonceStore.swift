import Crypto
import Foundation
import Postgres

/// A nonce that serves once, and the identity token that carries it; kept as their SHA-256.
struct NonceUse: Sendable {
    let nonce: [UInt8]
    let token: [UInt8]
    /// Seconds since 1970; from then on nobody gets in with it anyway.
    let expiresAt: Int64

    init(of nonce: String, with identityToken: String, expiresAt: Int64) {
        self.nonce = Array(SHA256.hash(data: Data(nonce.utf8)))
        self.token = Array(SHA256.hash(data: Data(identityToken.utf8)))
        self.expiresAt = expiresAt
    }
}

/// Remembers which nonces have served.
struct NonceStore: Sendable {
    let database: PostgresPool

    /// Seconds for which a nonce may come again with the token that it served with: the answer may have been lost.
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

    /// - Returns: whether this was the first use, or its repetition.
    func use(_ use: NonceUse, deadline: ContinuousClock.Instant) async throws -> Bool {
        try await Self.use(use, on: database, deadline: deadline)
    }

    /// The same within a transaction, with what the nonce is used for.
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
