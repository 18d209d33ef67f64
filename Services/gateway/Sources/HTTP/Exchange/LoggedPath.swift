/// A path as the log may have it: without what may be a token.
///
/// Clients put tokens into paths by mistake. A UUID has 36 characters and every token has more, so segments that are
/// longer than an identifier is are left out.
enum LoggedPath {
    private static let longestSegment = 40
    private static let longestPath = 1024

    /// - Parameter path: without the query.
    static func text(of path: [UInt8]) -> String {
        path.prefix(longestPath)
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { $0.count > longestSegment ? "…" : String(decoding: $0, as: UTF8.self) }
            .joined(separator: "/")
    }
}
