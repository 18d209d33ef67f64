import Foundation

/// What decides whether two addresses belong to the same server: scheme, host and port (RFC 6454 §4).
///
/// Hosts are compared byte by byte after folding ASCII letters. Nothing else is taken for equal: neither a final dot nor
/// a letter in percent-encoding.
struct Origin: Equatable, Sendable {
    let isEncrypted: Bool
    let host: [UInt8]
    let port: Int

    /// - Returns: `nil` where the address is none of HTTP or of web sockets, has no host, or holds a user's name, which
    ///   serves to deceive readers.
    init?(_ url: URL) {
        guard let scheme = url.scheme, url.user == nil, url.password == nil else { return nil }
        switch scheme.lowercased() {
        case "https", "wss": isEncrypted = true
        case "http", "ws": isEncrypted = false
        default: return nil
        }
        guard let host = url.host(percentEncoded: true), !host.isEmpty else { return nil }
        self.host = Self.folded(host)
        port = url.port ?? (isEncrypted ? 443 : 80)
    }

    static func folded(_ host: String) -> [UInt8] {
        host.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}
