/// What counts as one client: an IPv4 address, or the 64 bits that an IPv6 network gives its household.
struct AddressKey: Hashable, Sendable, CustomStringConvertible {
    let value: UInt64

    var description: String { String(value, radix: 16) }
}
