/// How far back each look for pending entries goes.
///
/// A look at all of them costs next to nothing as long as PostgreSQL can discard the entries that were stamped. While
/// something keeps it from that, such as a dump that takes an hour, the look reads all discarded entries again. So looks
/// at everything take at most a fiftieth of the time, and those in between go back ``recent`` only. An entry that is
/// committed within ``recent`` of its insertion never waits for a look at everything.
package struct StampSchedule: Sendable, Equatable {
    /// Longer than any transaction of a service stays open.
    package static let recent = Duration.seconds(30)
    private var everythingDueAt: ContinuousClock.Instant?

    package init() {}

    /// - Returns: how far back to look; `nil` for everything.
    package func reach(at now: ContinuousClock.Instant) -> Duration? {
        everythingDueAt.map { now < $0 } ?? false ? Self.recent : nil
    }

    /// Notes how long a look at everything took.
    package mutating func lookedAtEverything(from start: ContinuousClock.Instant, to end: ContinuousClock.Instant) {
        everythingDueAt = end + (end - start) * 50
    }
}
