/// How far back each look for pending entries goes.
///
/// A look at all of them costs next to nothing as long as PostgreSQL can discard the entries that were sequenced. While
/// something keeps it from that, such as a dump that takes an hour, the look reads all discarded entries again. So
/// looks at everything take at most 1/2000 of the time, which is about what the others take. Those go back ``recent``
/// only. An entry that is committed within ``recent`` of its insertion waits for no look at everything, unless a look
/// fails.
package struct SequencingSchedule: Sendable, Equatable {
    /// Longer than a transaction of a service usually stays open and the next look takes to come.
    package static let recent = SequencedFeed.rest + .seconds(5)
    /// The time between looks at everything that fail.
    package static let retry = Duration.seconds(30)
    private var everythingDueAt: ContinuousClock.Instant?

    package init() {}

    /// - Returns: how far back to look; `nil` for everything.
    package func reach(at now: ContinuousClock.Instant) -> Duration? {
        everythingDueAt.map { now < $0 } ?? false ? Self.recent : nil
    }

    /// Notes a look.
    ///
    /// - Parameters:
    ///   - cost: how long PostgreSQL looked for pending entries.
    ///   - isDrained: whether it left none. A backlog is sequenced without a pause.
    package mutating func looked(
        within reach: Duration?, cost: Duration, isDrained: Bool, at now: ContinuousClock.Instant
    ) {
        if reach == nil, isDrained { everythingDueAt = now + cost * 2000 }
    }

    /// Notes a look that failed. Meanwhile, recent entries may become older than ``recent``: so the next look is at
    /// everything, unless it was that which failed.
    package mutating func failed(within reach: Duration?, at now: ContinuousClock.Instant) {
        everythingDueAt = reach == nil ? now + Self.retry : nil
    }
}
