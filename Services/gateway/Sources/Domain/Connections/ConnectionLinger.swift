/// When a connection without requests may be closed: once the client has everything that was written, or is too slow.
struct ConnectionLinger: Sendable {
    enum Step: Equatable {
        /// It is to be looked at again after a while.
        case wait
        /// The client may be told that it is to end.
        case end
        /// Nothing is left that closing would throw away, or the client does not take it.
        case cut
    }

    private var pace: ReadingPace
    private let longest: Int64
    private var waiting = 0
    private var taken = 0
    /// Until when the client's system may take to acknowledge what was sent; nanoseconds.
    private var until: Int64?

    /// - Parameter longest: for the other side's system to take what the socket has taken; nanoseconds.
    init(pace: ReadingPace, longest: Int64) {
        self.pace = pace
        self.longest = longest
    }

    /// - Parameters:
    ///   - waiting: bytes that the socket has not taken.
    ///   - isEnding: whether the client knows that it is to end.
    ///   - hasDelivered: whether the other side's system has all that the socket has taken; asked where that counts.
    ///   - now: nanoseconds of a clock that goes on.
    mutating func step(waiting: Int, isEnding: Bool, hasDelivered: () -> Bool, at now: Int64) -> Step {
        taken += max(0, self.waiting - waiting)
        self.waiting = waiting
        guard pace.look(isWaiting: waiting > 0, taken: taken, at: now) else { return .cut }
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
