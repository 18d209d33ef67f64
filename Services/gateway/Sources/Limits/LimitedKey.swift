import Crypto
import Foundation
import GatehouseLimits

/// The key of one client: an IPv4 address, or an IPv6 /64, which a household usually has.
struct AddressKey: LimitedKey, CustomStringConvertible {
    /// The first 64 bits of an IPv6 address, or an IPv4 address behind 0x0000FFFF. No IPv6 address in use has that
    /// prefix.
    let value: UInt64

    var description: String { String(value, radix: 16) }

    private var isIPv4: Bool { value >> 32 == 0xFFFF }

    /// The IPv6 network of the given length, 64 at most; `nil` for an IPv4 address.
    func network(ofBits bits: Int) -> AddressKey? {
        isIPv4 ? nil : AddressKey(value: value & ~UInt64(0) << UInt64(64 - bits))
    }

    /// The typical network of one provider: an IPv6 /32, an IPv4 /16.
    var neighbourhood: UInt64 { isIPv4 ? value >> 16 : value >> 32 }
}

/// The key of one user. Users of different issuers may have the same identifier.
struct UserKey: LimitedKey, CustomStringConvertible {
    let id: UUID
    /// 0 for Gatehouse's own users.
    let issuerIndex: Int

    init(id: UUID, issuerIndex: Int) {
        self.id = id
        self.issuerIndex = issuerIndex
    }

    /// A user of another issuer, by half of a digest of the name: names may be long.
    init(name: String, issuerIndex: Int) {
        let id = SHA256.hash(data: Data(name.utf8)).withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }
        self.init(id: UUID(uuid: id), issuerIndex: issuerIndex)
    }

    var description: String { issuerIndex == 0 ? id.uuidString : "\(id.uuidString)@\(issuerIndex)" }
}
