import Foundation

/// Which addresses belong to the same client, and are counted together.
enum ClientNetwork {
    /// A subscriber's IPv6 addresses share their first 64 bits.
    static func subscriber(of address: String) -> String {
        prefix(of: address, groups: 4)
    }

    /// A site's IPv6 addresses share their first 48 bits. Counting them together keeps out an attacker who has a whole
    /// site. It harms no other user there, since only attempts at one identifier are counted in this way.
    static func site(of address: String) -> String {
        prefix(of: address, groups: 3)
    }

    private static func prefix(of address: String, groups count: Int) -> String {
        guard address.contains(":"), !address.contains(".") else { return address }
        let halves = address.split(separator: "%")[0].components(separatedBy: "::")
        var groups = halves[0].split(separator: ":").map(String.init)
        if halves.count == 2 {
            let tail = halves[1].split(separator: ":").map(String.init)
            groups += Array(repeating: "0", count: max(0, 8 - groups.count - tail.count)) + tail
        }
        return groups.prefix(count).joined(separator: ":") + "::/\(count * 16)"
    }
}
