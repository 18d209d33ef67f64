import Foundation

/// When a device whose app no longer registers is unreachable, and when it is erased.
struct UnseenRules: Sendable, Equatable {
    private static let day = 86_400.0

    /// Days after which nothing is sent to it.
    var pauseDays: Int
    /// Days after which its registration is erased.
    var retentionDays: Int

    /// Whether messages are sent to a device that was last seen then.
    func isReached(lastSeenAt: Date, now: Date) -> Bool {
        now.timeIntervalSince(lastSeenAt) < Double(pauseDays) * Self.day
    }
}
