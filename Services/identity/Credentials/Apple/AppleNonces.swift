import Crypto
import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import GatehouseServiceKit
import Sealing

/// Issues nonces for Sign in with Apple. Each nonce contains an HMAC that identifies it as Gatehouse's, so issuing one
/// writes nothing. ``AppleNonceStore`` remembers which were used.
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
