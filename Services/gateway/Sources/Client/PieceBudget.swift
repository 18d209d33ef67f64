// Pure: no I/O, no clock.

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
