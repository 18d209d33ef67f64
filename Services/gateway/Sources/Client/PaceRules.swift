import Synchronization

/// How long each phase of a client's connection may take, in nanoseconds. All connections of an event loop share one.
final class ClientTimes: Sendable {
    /// Until a request begins.
    let idle: Int64
    /// The same on a connection that exceeds a limit.
    let overLimit: Int64
    /// From the first byte of a head to its last.
    let head: Int64
    /// While keys that a request's token needs are fetched.
    let keys: Int64
    /// Until a place of a queue becomes free.
    let place: Int64
    /// For the beginning of a request's body, before a connection to an upstream is taken.
    let buffering: Int64
    /// Until the next part of a response.
    let stream: Int64
    /// For a client to read what was written before its connection is closed.
    let linger: Int64
    /// The same for a client that goes on sending, or whose system is still receiving.
    let longestLinger: Int64
    /// The minimum rate at which a client has to take its responses.
    let pace: ReadingPace

    init(
        idle: Int64, overLimit: Int64, head: Int64, keys: Int64, place: Int64, buffering: Int64, stream: Int64,
        linger: Int64, longestLinger: Int64, pace: ReadingPace
    ) {
        self.idle = idle
        self.overLimit = overLimit
        self.head = head
        self.keys = keys
        self.place = place
        self.buffering = buffering
        self.stream = stream
        self.linger = linger
        self.longestLinger = longestLinger
        self.pace = pace
    }
}

/// Whether a client takes its responses fast enough.
///
/// A client has a time budget. While bytes wait for it, the budget shrinks; each byte that it takes refills it. So the
/// client may pause for a while, but must keep a minimum rate on average. A slow service costs it nothing.
struct ReadingPace: Sendable {
    /// The full time budget; nanoseconds.
    private let timeout: Int64
    private let nanosecondsPerByte: Double
    private var left: Int64
    private var taken = 0
    /// The last check that found waiting bytes; `nil`: none were waiting.
    private var waitingAt: Int64?

    /// - Parameters:
    ///   - minimumRate: bytes in a second.
    ///   - timeout: nanoseconds.
    init(minimumRate: Int, timeout: Int64) {
        self.timeout = timeout
        nanosecondsPerByte = 1e9 / Double(minimumRate)
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

    private var pace: ReadingPace
    private let longest: Int64
    private var waiting = 0
    private var taken = 0
    /// Deadline for the client's system to acknowledge what was sent; nanoseconds.
    private var until: Int64?

    /// - Parameter longest: for the other side's system to receive what the socket has accepted; nanoseconds.
    init(pace: ReadingPace, longest: Int64) {
        self.pace = pace
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
        guard pace.update(isWaiting: waiting > 0, taken: taken, at: now) else { return .cut }
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

/// The number of bytes of bodies that may wait in the process, as seen by one event loop. Requests that wait for
/// upstreams have one budget, responses that wait for clients another.
///
/// Each body may use an eighth of the free memory, between `least` and `most` bytes. A few slow bodies therefore get
/// `most`, and many together barely exceed the limit.
struct BufferBudget: Sendable {
    /// The part that the event loops share.
    final class Shared: Sendable {
        fileprivate let limit: Int
        fileprivate let waiting = Atomic<Int>(0)

        /// - Parameter limit: bytes.
        init(limit: Int) { self.limit = limit }

        /// Bytes that wait now, as far as the event loops have reported.
        var bytes: Int { waiting.load(ordering: .relaxed) }
    }

    /// Bytes for one body, while enough memory is free.
    static let most = 64 * 1024
    /// Bytes for one body, however many bodies there are.
    static let least = 4 * 1024

    private let shared: Shared
    /// A change up to this size is not shared yet. The count of each event loop is wrong by at most this much for each
    /// other one.
    private let step: Int
    private var unshared = 0

    init(_ shared: Shared) {
        self.shared = shared
        step = min(Self.most, shared.limit / 256)
    }

    /// Bytes that wait now.
    var waiting: Int { shared.waiting.load(ordering: .relaxed) + unshared }

    /// More of a body may be read while fewer of its bytes than this are waiting.
    var allowance: Int { max(Self.least, min(Self.most, (shared.limit - waiting) / 8)) }

    /// Whether the limit is exceeded.
    var isExhausted: Bool { waiting >= shared.limit }

    /// Whether a body gets less than `most`.
    var isShort: Bool { allowance < Self.most }

    mutating func change(by bytes: Int) {
        unshared += bytes
        guard abs(unshared) > step else { return }
        shared.waiting.add(unshared, ordering: .relaxed)
        unshared = 0
    }
}

/// Limits the number of pieces, DATA frames of HTTP/2 or chunks, into which a client may cut its bodies.
///
/// A piece costs the gateway as much as a number of bytes. A client has a budget of pieces, which bytes and time
/// refill. So a client may send small messages at a steady rate indefinitely.
struct PieceBudget: Sendable {
    /// Pieces that a client may send at once.
    static let most = 1_000
    static let piecesPerSecond = 100
    /// Bytes that earn a DATA frame, or a chunk.
    static let (bytesPerFrame, bytesPerChunk) = (256, 8)

    /// Bytes that earn a piece.
    private let bytesPerPiece: Int
    /// The full budget in bytes; a piece costs `bytesPerPiece`.
    private let full: Int
    private var left: Int
    private var refilledAt: Int64

    /// - Parameter now: nanoseconds of a monotonic clock.
    init(bytesPerPiece: Int, now: Int64) {
        self.bytesPerPiece = bytesPerPiece
        full = Self.most * bytesPerPiece
        left = full
        refilledAt = now
    }

    /// Adds the pieces of a small request: one with its body, and one that ends it.
    mutating func beginRequest() {
        left = min(left + 2 * bytesPerPiece, full)
    }

    /// Counts pieces.
    ///
    /// - Parameter bytes: of their payload.
    /// - Returns: whether the client may send them.
    mutating func take(_ pieces: Int = 1, bytes: Int, now: @autoclosure () -> Int64) -> Bool {
        left = min(left + bytes - pieces * bytesPerPiece, full)
        guard left < 0 else { return true }
        let now = now()
        let seconds = Double(now - refilledAt) / 1e9
        let earned = min(seconds * Double(Self.piecesPerSecond * bytesPerPiece), Double(full))
        // The next call counts time that has earned less than a byte.
        if earned >= 1 {
            left += Int(earned)
            refilledAt = now
        }
        return left >= 0
    }
}
