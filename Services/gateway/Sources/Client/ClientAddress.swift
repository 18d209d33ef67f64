import Foundation
import NIOCore

/// The address of a client: as text for upstreams, as a key for limits.
struct ClientAddress: Sendable, Equatable {
    /// Without port. An IPv4 address in IPv6 notation is written as IPv4.
    let text: [UInt8]
    let key: AddressKey
    /// The address in 16 bytes, IPv4 mapped into IPv6.
    let bits: UInt128

    static let unknown = ClientAddress(bits: 0, text: "unknown")

    init(_ address: SocketAddress?) {
        guard let text = address?.ipAddress, let parsed = ClientAddress(text) else {
            self = .unknown
            return
        }
        self = parsed
    }

    /// Reads an IPv4 or IPv6 address.
    init?(_ text: String) {
        // A zone has no meaning on another machine.
        let text = String(text.prefix { $0 != "%" })
        guard let address = try? SocketAddress(ipAddress: text, port: 0) else { return nil }
        switch address {
        case .v4(let address):
            let number = withUnsafeBytes(of: address.address) {
                UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: Self.sinAddress, as: UInt32.self))
            }
            self.init(bits: Self.mapped | UInt128(number), text: Self.dotted(number))
        case .v6(let address):
            let bits = withUnsafeBytes(of: address.address) {
                UInt128(bigEndian: $0.loadUnaligned(fromByteOffset: Self.sin6Address, as: UInt128.self))
            }
            if bits >> 32 == Self.mapped >> 32 {
                self.init(bits: bits, text: Self.dotted(UInt32(truncatingIfNeeded: bits)))
            } else {
                self.init(bits: bits, text: address.host.isEmpty ? text : address.host)
            }
        default: return nil
        }
    }

    /// Reads one entry of `X-Forwarded-For`: an address, which some proxies follow by a port. An IPv6 address with a
    /// port is in brackets.
    init?(forwarded text: Substring) {
        var address = text
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]"), Self.isPort(text[text.index(after: end)...]) else { return nil }
            address = text[text.index(after: text.startIndex)..<end]
            guard address.contains(":") else { return nil }
        } else if let colon = text.firstIndex(of: ":"), text[..<colon].contains(".") {
            guard Self.isPort(text[colon...]) else { return nil }
            address = text[..<colon]
        }
        self.init(String(address))
    }

    /// Whether the text is empty, or a colon and digits.
    private static func isPort(_ text: Substring) -> Bool {
        guard let first = text.utf8.first else { return true }
        let digits = text.utf8.dropFirst()
        return first == .colon && (1...5).contains(digits.count)
            && digits.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    }

    private init(bits: UInt128, text: String) {
        self.bits = bits
        self.text = Array(text.utf8)
        let isIPv4 = bits >> 32 == Self.mapped >> 32
        key = AddressKey(value: UInt64(truncatingIfNeeded: isIPv4 ? bits : bits >> 64))
    }

    /// The offsets of the address in `sockaddr_in` and `sockaddr_in6`. Which module declares the fields depends on the
    /// order in which the compiler reads them.
    private static let (sinAddress, sin6Address) = (4, 8)

    private static let mapped: UInt128 = 0xFFFF << 32

    private static func dotted(_ number: UInt32) -> String {
        "\(number >> 24).\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)"
    }
}

/// The networks of the trusted proxies, whose statement of the client's address the gateway accepts.
struct TrustedProxies: Sendable, Equatable {
    private struct Network: Sendable, Equatable {
        var bits: UInt128
        var mask: UInt128
    }

    private var networks: [Network] = []

    var isEmpty: Bool { networks.isEmpty }

    init() {}

    /// Reads `10.0.0.0/8`, `::1` and the like; `nil` when an entry is neither an address nor a network.
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

    /// The client behind a trusted peer: the last address in `X-Forwarded-For` that is not a trusted proxy.
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
