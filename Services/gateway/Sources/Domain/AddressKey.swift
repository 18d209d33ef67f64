/// What counts as one client: an IPv4 address, or the 64 bits that an IPv6 network gives its household.
struct AddressKey: Hashable, Sendable {
    let value: UInt64
}
