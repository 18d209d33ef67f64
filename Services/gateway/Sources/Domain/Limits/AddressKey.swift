/// What counts as one client: an IPv4 address, or the 64 bits that an IPv6 network gives its household.
struct AddressKey: LimitedKey, CustomStringConvertible {
    /// The first 64 bits of an IPv6 address; an IPv4 address behind 0x0000FFFF, with which no IPv6 address in use begins.
    let value: UInt64

    var description: String { String(value, radix: 16) }

    private var isIPv4: Bool { value >> 32 == 0xFFFF }

    /// The IPv6 network of so many bits, 64 at the most, that it lies in; `nil` for an IPv4 address.
    func network(ofBits bits: Int) -> AddressKey? {
        isIPv4 ? nil : AddressKey(value: value & ~UInt64(0) << UInt64(64 - bits))
    }

    /// What one provider mostly has: an IPv6 /32, an IPv4 /16.
    var neighbourhood: UInt64 { isIPv4 ? value >> 16 : value >> 32 }
}
