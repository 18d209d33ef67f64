import Bytes
import Contracts
import Crypto
import Foundation
import Postgres
import Sealing
import ServiceKit

/// Issues nonces for Sign in with Apple. Each nonce contains an HMAC that identifies it as Gatehouse's, so issuing one
/// writes nothing. ``NonceStore`` remembers which were used.
///
/// Form: `ghn_` + base64url(expiry in seconds since 1970 (8 bytes) ‖ 16 random bytes ‖ 16 bytes of HMAC-SHA-256).
struct AppleNonceIssuer: Sendable {
    static let prefix = "ghn_"
    /// Seconds.
    static let lifetime: Int64 = 600
    /// In bytes; also the limit for nonces that the app has chosen. An identity token has no room for a much longer
    /// one.
    static let maximumLength = 512

    /// - Throws: `INVALID_REQUEST` where the nonce of a request is too long.
    static func checkLength(of nonce: String?) throws(Problem) {
        guard let nonce, nonce.utf8.count > maximumLength else { return }
        throw Problem.invalid("nonce", "The nonce is longer than \(maximumLength) characters.")
    }

    private let keys: KeyRing

    init(keys: KeyRing) {
        self.keys = keys.derived(for: "gatehouse apple nonce")
    }

    func issue(now: Int64) -> String {
        let body = withUnsafeBytes(of: (now + Self.lifetime).bigEndian, Array.init) + [UInt8].random(count: 16)
        return Self.prefix + Base64URL.string(body + tag(of: body, under: keys.current.secret))
    }

    enum Verification: Equatable {
        /// Chosen by the app.
        case notOurs
        /// Issued by Gatehouse, single-use. It has to be remembered as used until `expiresAt` (seconds since 1970).
        case ours(expiresAt: Int64)
        /// In Gatehouse's form, but forged or expired.
        case invalid
    }

    func verify(_ nonce: String, now: Int64) -> Verification {
        guard nonce.hasPrefix(Self.prefix) else { return .notOurs }
        guard let bytes = Base64URL.decode(nonce.dropFirst(Self.prefix.count)), bytes.count == 40 else {
            return .invalid
        }
        let body = bytes.prefix(24)
        guard keys.all.contains(where: { constantTimeEqual(tag(of: Array(body), under: $0), bytes.suffix(16)) })
        else { return .invalid }
        let expiresAt = body.prefix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        return expiresAt > now ? .ours(expiresAt: expiresAt) : .invalid
    }

    private func tag(of body: [UInt8], under key: SymmetricKey) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: body, using: key).prefix(16))
    }
}

/// Remembers which nonces have been used (table `used_nonces`).
struct NonceStore: Sendable {
    let database: PostgresPool

    /// Seconds in which a nonce is accepted again with the same token, because the response may have been lost.
    static let retryWindow = 60.0

    /// Whether the nonce can no longer be used.
    func isSpent(_ use: NonceUse) async throws -> Bool {
        try await !database.query(
            """
            SELECT digest FROM used_nonces
            WHERE digest = \(use.nonce) AND NOT (token_digest = \(use.token)
                AND used_at > now() - make_interval(secs => \(Self.retryWindow)))
            """
        ).isEmpty
    }

    /// - Returns: whether this was the first use, or a repetition of it.
    func use(_ use: NonceUse) async throws -> Bool {
        try await Self.use(use, on: database)
    }

    /// The same within the transaction that the nonce is used for.
    static func use(_ use: NonceUse, on database: some PostgresQuerying) async throws -> Bool {
        try await database.query(
            """
            INSERT INTO used_nonces (digest, token_digest, expires_at)
            VALUES (\(use.nonce), \(use.token), to_timestamp(\(Double(use.expiresAt))))
            ON CONFLICT (digest) DO UPDATE SET token_digest = EXCLUDED.token_digest
                WHERE used_nonces.token_digest = EXCLUDED.token_digest
                    AND used_nonces.used_at > now() - make_interval(secs => \(Self.retryWindow))
            """
        ).affectedRows == 1
    }
}
