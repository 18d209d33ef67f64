/// Networks whose word about a client's address is believed.
struct TrustedProxies: Sendable, Equatable {
    private struct Network: Sendable, Equatable {
        var bits: UInt128
        var mask: UInt128
    }

    private var networks: [Network] = []

    var isEmpty: Bool { networks.isEmpty }

    init() {}

    /// Reads `10.0.0.0/8`, `::1` and the like; `nil` when one of them is neither address nor network.
    init?(_ list: [String]) {
        for entry in list {
            let parts = entry.split(separator: "/", omittingEmptySubsequences: false)
            guard let address = ClientAddress(String(parts[0])), parts.count <= 2 else { return nil }
            let isIPv4 = !parts[0].contains(":")
            let width = isIPv4 ? 32 : 128
            guard let length = parts.count == 2 ? Int(parts[1]) : width, (0...width).contains(length) else {
                return nil
            }
            let zeros = width - length
            let mask: UInt128 = zeros == 128 ? 0 : ~0 << UInt128(zeros)
            networks.append(Network(bits: address.bits & mask, mask: mask))
        }
    }

    func contains(_ address: ClientAddress) -> Bool {
        networks.contains { address.bits & $0.mask == $0.bits }
    }

    /// The client behind a trusted peer: of those that `X-Forwarded-For` lists, the last one that is no proxy of ours.
    func client(behind peer: ClientAddress, forwardedFor: [Substring]) -> ClientAddress {
        var client = peer
        for text in forwardedFor.reversed() {
            guard contains(client) else { break }
            guard let next = ClientAddress(forwarded: text) else { break }
            client = next
        }
        return client
    }
}
