import Synchronization

/// How long each phase of a client's connection may take, in nanoseconds. All connections of an event loop share one.
final class ClientTimes: Sendable {
    /// For a request to begin.
    let idle: Int64
    /// The same on a connection that is one too many.
    let overLimit: Int64
    /// From the first byte of a head to its last.
    let head: Int64
    /// For keys to be fetched that a request's token needs.
    let keys: Int64
    /// For a place of a queue of which all are taken.
    let place: Int64
    /// For the beginning of a request's body, before a connection to an upstream is taken.
    let buffering: Int64
    /// For the next part of a response.
    let stream: Int64
    /// For a client to read what it was sent before its connection is closed.
    let linger: Int64
    /// The same for a client that goes on sending, or whose system is still receiving.
    let longestLinger: Int64
    /// How slowly a client may take its responses.
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

/// How many bytes of bodies may wait in the process, as one event loop knows it: one budget for requests that wait for
/// upstreams, one for responses that wait for clients.
///
/// Each body may have an eighth of what is left, between `least` and `most`. So a few slow bodies have all that they
/// need, and many together come to little more than the limit.
struct BufferBudget: Sendable {
    /// What the event loops share.
    final class Shared: Sendable {
        fileprivate let limit: Int
        fileprivate let waiting = Atomic<Int>(0)

        /// - Parameter limit: bytes.
        init(limit: Int) { self.limit = limit }

        /// Bytes that wait now, as far as the event loops have said.
        var bytes: Int { waiting.load(ordering: .relaxed) }
    }

    /// Bytes for one body, while enough is left.
    static let most = 64 * 1024
    /// Bytes for one body, however many there are.
    static let least = 4 * 1024

    private let shared: Shared
    /// A change that the other event loops need not know yet. No loop is wrong by more than so much for each other one.
    private let step: Int
    private var unshared = 0

    init(_ shared: Shared) {
        self.shared = shared
        step = min(Self.most, shared.limit / 256)
    }

    /// Bytes that wait now.
    var waiting: Int { shared.waiting.load(ordering: .relaxed) + unshared }

    /// With fewer bytes than these waiting, more of a body may be read.
    var allowance: Int { max(Self.least, min(Self.most, (shared.limit - waiting) / 8)) }

    /// Whether more waits than may.
    var isExhausted: Bool { waiting >= shared.limit }

    /// Whether there is less than every body could use.
    var isShort: Bool { allowance < Self.most }

    mutating func change(by bytes: Int) {
        unshared += bytes
        guard abs(unshared) > step else { return }
        shared.waiting.add(unshared, ordering: .relaxed)
        unshared = 0
    }
}

/// Into how many pieces a client may cut bodies, for the bytes that are in them: DATA frames of HTTP/2, or chunks.
///
/// Each piece costs the gateway about as much as a number of bytes do. A client has a store of pieces; bytes and time
/// refill it. So a client may send small messages at a steady rate for as long as it likes.
struct PieceBudget: Sendable {
    /// Pieces that a client may send at once.
    static let most = 1_000
    static let piecesPerSecond = 100
    /// Bytes that earn a DATA frame, or a chunk.
    static let (bytesPerFrame, bytesPerChunk) = (256, 8)

    /// Bytes that earn a piece.
    private let bytesPerPiece: Int
    /// Counted in bytes: a piece costs `bytesPerPiece`.
    private let full: Int
    private var left: Int
    private var refilledAt: Int64

    /// - Parameter now: nanoseconds of a clock that goes on.
    init(bytesPerPiece: Int, now: Int64) {
        self.bytesPerPiece = bytesPerPiece
        full = Self.most * bytesPerPiece
        left = full
        refilledAt = now
    }

    /// Earns what a small request needs: a piece with its body, and one that ends it.
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
        // A clock that has not gone on by a byte's time keeps what it has.
        if earned >= 1 {
            left += Int(earned)
            refilledAt = now
        }
        return left >= 0
    }
}
