/// When an event loop stood still: its process was stopped, say, or its machine suspended. Requests went on waiting in
/// its sockets, and when they are read at last they are older than they look.
public struct StallRecord: Sendable {
    public typealias Instant = ContinuousClock.Instant

    /// A shorter delay is what a busy machine causes.
    static let shortest = Duration.seconds(1)
    /// How long it may take to read what has waited.
    static let backlog = Duration.seconds(1)

    private var lastBeat: Instant?
    private var lastStall: Range<Instant>?

    public init() {}

    /// The loop looks at the clock, as it does several times a second.
    public mutating func beat(at now: Instant) {
        if let lastBeat, now - lastBeat > Self.shortest { lastStall = lastBeat..<now }
        lastBeat = now
    }

    /// For how long a request that is read at `instant` may have waited; zero in most cases.
    public func wait(ofReadAt instant: Instant) -> Duration {
        if let lastStall, instant > lastStall.lowerBound, instant < lastStall.upperBound + Self.backlog {
            return lastStall.lowerBound.duration(to: instant)
        }
        // Read before the first beat after a stall.
        if let lastBeat, instant - lastBeat > Self.shortest { return lastBeat.duration(to: instant) }
        return .zero
    }
}
