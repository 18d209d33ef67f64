import Foundation

/// The value of `Host` (RFC 9112 §3.2): `uri-host [ ":" port ]`.
///
/// Of the names that RFC 3986 §3.2.2 allows, those of unreserved bytes. No host is called by the others (`%`, and
/// `!$&'()*+,;=`), and services read them in more than one way: a comma in `X-Forwarded-Host` makes two hosts of one.
/// Of addresses in brackets those of IPv6, without a zone, which means nothing to another machine.
enum HostField {
    private static let nameBytes = ByteSet(.alphanumeric, "-._~")
    private static let addressBytes = ByteSet(.empty, "0123456789abcdefABCDEF:.")
    /// The longest text of an IPv6 address: six groups, and four bytes in decimals.
    private static let longestAddress = 45

    static func isValid(_ value: UnsafeRawBufferPointer) -> Bool {
        let hostEnd: Int
        if value.first == UInt8(ascii: "[") {
            guard let end = value.firstIndex(of: UInt8(ascii: "]")),
                isIPv6(UnsafeRawBufferPointer(rebasing: value[1..<end]))
            else { return false }
            hostEnd = end + 1
        } else {
            hostEnd = value.firstIndex { !nameBytes.contains($0) } ?? value.count
            guard hostEnd > 0 else { return false }
        }
        guard hostEnd < value.count else { return true }
        return value[hostEnd] == .colon && isPort(value[(hostEnd + 1)...])
    }

    /// An empty one stands for the scheme's own (RFC 3986 §3.2.3).
    private static func isPort(_ digits: Slice<UnsafeRawBufferPointer>) -> Bool {
        guard digits.count <= 5 else { return false }
        var port = 0
        for digit in digits {
            guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return false }
            port = port * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return port <= 65_535
    }

    private static func isIPv6(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count <= longestAddress, addressBytes.containsAll(text) else { return false }
        // By its bytes: whether the members of C's `in6_addr` can be seen here depends on the order of the build.
        return withUnsafeTemporaryAllocation(byteCount: 16, alignment: 4) { address in
            inet_pton(AF_INET6, String(decoding: text, as: UTF8.self), address.baseAddress) == 1
        }
    }
}
