import Foundation

/// From when to when a span went; nanoseconds since 1970.
public struct SpanTime: Sendable, Equatable {
    public let start: UInt64
    public let end: UInt64

    /// - Parameters:
    ///   - start: nanoseconds since 1970.
    ///   - end: the same; not before `start`.
    public init(start: UInt64, end: UInt64) {
        self.start = start
        self.end = max(start, end)
    }

    /// A time that ends now.
    ///
    /// How long it took comes from a clock that is never set: two looks at the wall clock might say less than nothing.
    public static func endingNow(since start: ContinuousClock.Instant) -> SpanTime {
        let (seconds, attoseconds) = start.duration(to: .now).components
        return endingNow(after: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// A time that ends now.
    ///
    /// - Parameter nanoseconds: how long it took.
    public static func endingNow(after nanoseconds: Int64) -> SpanTime {
        let now = UInt64(max(0, Date.now.timeIntervalSince1970 * 1e9))
        return SpanTime(start: now - min(now, UInt64(max(0, nanoseconds))), end: now)
    }
}
