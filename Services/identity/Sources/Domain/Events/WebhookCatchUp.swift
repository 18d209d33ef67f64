import Foundation

/// What a webhook is sent when its cursor no longer means anything, as after a crash of PostgreSQL or a fail-over: the
/// feed is read from its beginning, and what was delivered long before is left out.
struct WebhookCatchUp: Sendable {
    /// When the newest event happened that was delivered; `nil` where everything is wanted.
    var through: Date?
    /// Days for which events are kept; `nil` for ever.
    var retention: Int?

    /// Seconds: longer than a transaction lasts, so that an event that was committed late is not left out.
    static let overlap: TimeInterval = 3600

    func isWanted(_ happenedAt: Date) -> Bool {
        through.map { happenedAt >= $0.addingTimeInterval(-Self.overlap) } ?? true
    }

    /// Whether events may be missing that were never delivered, since they are too old to be kept.
    func isGap(now: Date) -> Bool {
        guard let through, let retention else { return false }
        return through < now.addingTimeInterval(-Double(retention) * 86_400 + Self.overlap)
    }
}
