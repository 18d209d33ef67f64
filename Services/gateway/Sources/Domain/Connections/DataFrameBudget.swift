/// How many DATA frames of HTTP/2 a client may send for the bytes that are in them.
///
/// Each frame costs the gateway about as much as several hundred bytes do. A client has a store of frames; bytes and time
/// refill it. So a client may send small messages at a steady rate for as long as it likes.
struct DataFrameBudget: Sendable {
    /// Frames that a client may send at once.
    static let most = 1_000
    /// Bytes that earn a frame.
    static let bytesPerFrame = 256
    static let framesPerSecond = 100

    /// Counted in bytes: a frame costs `bytesPerFrame`.
    private static let full = most * bytesPerFrame
    private var left = full
    private var refilledAt: Int64

    /// - Parameter now: nanoseconds of a clock that goes on.
    init(now: Int64) { refilledAt = now }

    /// Counts a frame.
    ///
    /// - Parameter bytes: of its payload.
    /// - Returns: whether the client may send it.
    mutating func take(bytes: Int, now: @autoclosure () -> Int64) -> Bool {
        left = min(left + bytes - Self.bytesPerFrame, Self.full)
        guard left < 0 else { return true }
        let now = now()
        let seconds = Double(now - refilledAt) / 1e9
        let earned = min(seconds * Double(Self.framesPerSecond * Self.bytesPerFrame), Double(Self.full))
        // A clock that has not gone on by a byte's time keeps what it has.
        if earned >= 1 {
            left += Int(earned)
            refilledAt = now
        }
        return left >= 0
    }
}
