/// Whether a client takes its responses fast enough.
///
/// A client has a store of time. While bytes wait for it, time is used up; each byte that it takes gives some back. So it
/// may pause for a while, and has to keep a rate on average. A slow service costs it nothing.
struct ReadingPace: Sendable {
    /// All the time that it may have in store; nanoseconds.
    private let patience: Int64
    private let nanosecondsPerByte: Double
    private var left: Int64
    private var taken = 0
    /// When it was seen last that bytes wait; `nil`: none did.
    private var waitingAt: Int64?

    /// - Parameters:
    ///   - minimumRate: bytes in a second.
    ///   - patience: nanoseconds.
    init(minimumRate: Int, patience: Int64) {
        self.patience = patience
        nanosecondsPerByte = 1e9 / Double(minimumRate)
        left = patience
    }

    /// When it has to be looked at again: then no time is left, unless the client has taken something meanwhile.
    var deadline: Int64 { waitingAt.map { $0 + left } ?? .max }

    /// A response begins. It is judged by itself, unless another still waits before it.
    mutating func begin() {
        if waitingAt == nil { left = patience }
    }

    /// - Parameters:
    ///   - isWaiting: whether bytes wait for the client now.
    ///   - taken: bytes that it has taken since any beginning.
    ///   - now: nanoseconds of a clock that goes on.
    /// - Returns: whether the client is fast enough.
    mutating func look(isWaiting: Bool, taken: Int, at now: Int64) -> Bool {
        if let waitingAt { left -= now - waitingAt }
        if taken > self.taken {
            // A number of bytes may be longer than its nanoseconds could be counted.
            left += Int64(min(Double(taken - self.taken) * nanosecondsPerByte, 0x1p61))
            self.taken = taken
        }
        left = min(left, patience)
        waitingAt = isWaiting ? now : nil
        if !isWaiting { left = max(left, 0) }
        return left > 0 || !isWaiting
    }
}
