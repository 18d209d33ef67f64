import Bytes

/// Which pages may use a route from a browser (Fetch standard, CORS protocol). Cookies take no part in it: whoever calls
/// shows a bearer.
struct CORSPolicy: Sendable, Equatable {
    /// As browsers write them: `https://app.example.com`. `*` is every page.
    var origins: Set<VerbatimString>
    /// Fields that a request may have beside those that every page may send.
    var headers = ["Authorization", "Content-Type"]
    /// Fields of the response that a page may read beside those that every page may.
    var exposed: [String] = []
    /// Seconds for which a browser need not ask again.
    var maximumAge = 600

    func allows(_ origin: String) -> Bool { origins.contains("*") || origins.contains(origin) }

    /// Whether the text is an origin as browsers write it (RFC 6454 §6.2), or `*`.
    static func isOrigin(_ text: String) -> Bool {
        if text == "*" { return true }
        guard let scheme = ["https://", "http://"].first(where: text.hasPrefix) else { return false }
        let host = text.dropFirst(scheme.count)
        let allowed = ByteSet(.alphanumeric, "-.:[]")
        return !host.isEmpty && host.utf8.allSatisfy(allowed.contains) && text == text.lowercased()
    }
}
