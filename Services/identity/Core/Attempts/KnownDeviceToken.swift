// Pure: no I/O, no clock.

import Crypto
import Foundation
import GatehouseBytes

/// A token that proves that a user has signed in on a device. Attempts on the device are counted apart from those of
/// other parties. Only the app stores the token.
///
/// `ghdt_` and in base64url: a version, the device's id, the user's, the time of issue, an HMAC-SHA-256 of these.
struct KnownDeviceToken: Sendable, Equatable {
    /// Random. Chosen with the device's first token, and kept when the token is renewed.
    var deviceID: UUID
    var userID: UUID
    /// Seconds since 1970.
    var issuedAt: Int64

    /// Seconds.
    static let lifetime: Int64 = 180 * 86_400
    private static let prefix = "ghdt_"
    private static let version: UInt8 = 1
    private static let payloadLength = 41
    private static let length = payloadLength + 32

    init(deviceID: UUID = UUID(), userID: UUID, issuedAt: Int64) {
        self.deviceID = deviceID
        self.userID = userID
        self.issuedAt = issuedAt
    }

    func signed(with key: SymmetricKey) -> String {
        let payload = payload
        return Self.prefix + Base64URL.string(payload + HMAC<SHA256>.authenticationCode(for: payload, using: key))
    }

    /// `nil` when the text is not a token, was signed with none of the keys, or is too old.
    init?(_ text: String, keys: [SymmetricKey], now: Int64) {
        // Every token has this length, so no longer text is decoded.
        guard text.utf8.count == Self.prefix.utf8.count + (Self.length * 8 + 5) / 6, text.hasPrefix(Self.prefix),
            let bytes = Base64URL.decode(text.dropFirst(Self.prefix.count)), bytes.count == Self.length,
            bytes[0] == Self.version
        else { return nil }
        let (payload, code) = (bytes[..<Self.payloadLength], bytes[Self.payloadLength...])
        guard keys.contains(where: { HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: payload, using: $0) })
        else { return nil }
        deviceID = Self.uuid(payload[1..<17])
        userID = Self.uuid(payload[17..<33])
        issuedAt = Int64(bitPattern: payload[33...].reduce(0) { $0 << 8 | UInt64($1) })
        guard now - issuedAt <= Self.lifetime else { return nil }
    }

    private var payload: [UInt8] {
        let time = UInt64(bitPattern: issuedAt)
        return [Self.version] + Self.bytes(deviceID) + Self.bytes(userID)
            + (0..<8).reversed().map { UInt8(truncatingIfNeeded: time >> (8 * $0)) }
    }

    private static func bytes(_ id: UUID) -> [UInt8] { withUnsafeBytes(of: id.uuid) { Array($0) } }

    private static func uuid(_ bytes: ArraySlice<UInt8>) -> UUID {
        bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}
