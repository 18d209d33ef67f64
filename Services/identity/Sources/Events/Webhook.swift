// Pure: no I/O, no clock.

import Foundation

/// The endpoint that receives events, and the secret that authenticates Gatehouse to it.
struct Webhook: Sendable {
    var url: URL
    var secret: String

    /// In bytes.
    static let minimumSecretLength = 16

    /// The address without parts that may be secret, for metrics and logs.
    var name: String {
        var parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
        parts?.query = nil
        parts?.user = nil
        parts?.password = nil
        return parts?.string ?? ""
    }
}

/// How a webhook resumes when its cursor is no longer valid, for example after a restore. The
/// feed is read from its beginning, and events that were delivered long before are left out.
struct WebhookCatchUp: Sendable {
    /// When the newest delivered event happened; `nil` where no event is left out.
    var through: Date?
    /// Days for which events are kept; `nil` for ever.
    var retention: Int?

    /// Seconds. Longer than a transaction lasts, so that an event that was committed late is not left out.
    static let overlap: TimeInterval = 3600

    func isWanted(_ happenedAt: Date) -> Bool {
        through.map { happenedAt >= $0.addingTimeInterval(-Self.overlap) } ?? true
    }

    /// Whether undelivered events may have been removed, because they were older than the retention.
    func isGap(now: Date) -> Bool {
        guard let through, let retention else { return false }
        return through < now.addingTimeInterval(-Double(retention) * 86_400 + Self.overlap)
    }
}
