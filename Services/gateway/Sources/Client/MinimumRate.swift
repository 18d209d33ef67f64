// Pure: no I/O, no clock.

/// Whether a client takes its responses at the minimum rate.
///
/// A client has a time budget. While bytes wait for it, the budget shrinks; each byte that it takes refills it. So the
/// client may pause for a while, but must keep a minimum rate on average. A slow service costs it nothing.
struct MinimumRate: Sendable {
    /// The full time budget; nanoseconds.
    private let timeout: Int64
    private let nanosecondsPerByte: Double
    private var left: Int64
    private var taken = 0
    /// The last check that found waiting bytes; `nil`: none were waiting.
    private var waitingAt: Int64?

    /// - Parameters:
    ///   - bytesPerSecond: the minimum rate.
    ///   - timeout: nanoseconds.
    init(bytesPerSecond: Int, timeout: Int64) {
        self.timeout = timeout
        nanosecondsPerByte = 1e9 / Double(bytesPerSecond)
        left = timeout
    }

    /// When to check again: the budget is used up then, unless the client has taken bytes meanwhile.
    var deadline: Int64 { waitingAt.map { $0 + left } ?? .max }

    /// A response begins. It has a budget of its own, unless an earlier response still waits.
    mutating func begin() {
        if waitingAt == nil { left = timeout }
    }

    /// - Parameters:
    ///   - isWaiting: whether bytes wait for the client now.
    ///   - taken: bytes that it has taken since any fixed time.
    ///   - now: nanoseconds of a monotonic clock.
    /// - Returns: whether the client is fast enough.
    mutating func update(isWaiting: Bool, taken: Int, at now: Int64) -> Bool {
        if let waitingAt { left -= now - waitingAt }
        if taken > self.taken {
            // The nanoseconds of a large number of bytes may overflow.
            left += Int64(min(Double(taken - self.taken) * nanosecondsPerByte, 0x1p61))
            self.taken = taken
        }
        left = min(left, timeout)
        waitingAt = isWaiting ? now : nil
        if !isWaiting { left = max(left, 0) }
        return left > 0 || !isWaiting
    }
}

/// Decides when to close a connection without requests: when the client has received everything that was written, or is
/// too slow.
struct ConnectionLinger: Sendable {
    enum Step: Equatable {
        /// Check again after a while.
        case wait
        /// Tell the client that the connection ends.
        case end
        /// Close the connection: the client has received everything, or is too slow.
        case cut
    }

    private var minimumRate: MinimumRate
    private let longest: Int64
    private var waiting = 0
    private var taken = 0
    /// Deadline for the client's system to acknowledge what was sent; nanoseconds.
    private var until: Int64?

    /// - Parameter longest: for the other side's system to receive what the socket has accepted; nanoseconds.
    init(minimumRate: MinimumRate, longest: Int64) {
        self.minimumRate = minimumRate
        self.longest = longest
    }

    /// - Parameters:
    ///   - waiting: bytes that the socket has not accepted.
    ///   - isEnding: whether the client has been told that the connection ends.
    ///   - hasDelivered: whether the other side's system has received everything that the socket accepted; called only
    ///     where that matters.
    ///   - now: nanoseconds of a monotonic clock.
    mutating func step(waiting: Int, isEnding: Bool, hasDelivered: () -> Bool, at now: Int64) -> Step {
        taken += max(0, self.waiting - waiting)
        self.waiting = waiting
        guard minimumRate.update(isWaiting: waiting > 0, taken: taken, at: now) else { return .cut }
        if waiting > 0 {
            until = nil
            return .wait
        }
        guard isEnding else { return .end }
        let until = until ?? now + longest
        self.until = until
        return now < until && !hasDelivered() ? .wait : .cut
    }
}
