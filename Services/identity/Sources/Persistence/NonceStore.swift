import Crypto
import Foundation
import Postgres

/// Remembers which of our nonces have served.
struct NonceStore: Sendable {
    let database: PostgresPool

    func isUsed(_ nonce: String, deadline: ContinuousClock.Instant) async throws -> Bool {
        try await !database.query(
            "SELECT digest FROM used_nonces WHERE digest = \(Self.digest(nonce))", deadline: deadline
        ).isEmpty
    }

    /// - Parameter expiresAt: seconds since 1970; from then on the nonce is refused by its own date.
    /// - Returns: whether this was the first use.
    func use(_ nonce: String, expiresAt: Int64, deadline: ContinuousClock.Instant) async throws -> Bool {
        try await database.query(
            """
            INSERT INTO used_nonces (digest, expires_at)
            VALUES (\(Self.digest(nonce)), to_timestamp(\(Double(expiresAt)))) ON CONFLICT (digest) DO NOTHING
            """, deadline: deadline
        ).affectedRows == 1
    }

    private static func digest(_ nonce: String) -> [UInt8] {
        Array(SHA256.hash(data: Data(nonce.utf8)))
    }
}
