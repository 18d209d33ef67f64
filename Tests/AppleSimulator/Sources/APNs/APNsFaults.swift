/// The request of `POST /simulator/apns-fault`: what goes wrong with pushes from now on, beneath HTTP's responses.
struct APNsFaultRequest: Codable, Sendable {
    var mode: APNsFault.Mode
    /// The device token or channel whose pushes are affected. Absent: all without a fault of their own.
    var token: String?
    /// The number of pushes that are affected; absent: unlimited, until mode `none`.
    var times: Int?
    /// The fault's seconds: ``APNsFault/delay``.
    var delay: Double?
    /// ``APNsFault/count``.
    var count: Int?
    /// The HTTP/2 error code (RFC 9113 §7) of `reset` and `goAway`.
    var code: Int?
    /// For `goAway`: 0, an odd number, or 2147483647. Absent: the newest stream.
    var lastStreamId: Int?
    /// For `goAway`: Apple's reason, sent as JSON in the frame.
    var reason: String?

    /// Nil: a value is out of range.
    var fault: APNsFault? {
        let isStream = lastStreamId.map { $0 == 0 || $0 % 2 == 1 && (1...Int(Int32.max)).contains($0) } ?? true
        guard isStream, (0...3_600).contains(delay ?? 0), (1...10_000).contains(count ?? 1),
            (0...Int(Int32.max)).contains(code ?? 0), (times ?? 1) > 0
        else { return nil }
        return APNsFault(
            mode: mode, delay: delay, count: count, code: code, lastStreamID: lastStreamId, reason: reason)
    }
}

/// A fault of the connection or of one response.
struct APNsFault: Sendable {
    enum Mode: String, Codable, Sendable, CaseIterable {
        /// Ends the faults, and what they hold back.
        case none
        /// Sends GOAWAY with `lastStreamID`, answers the streams up to it, and closes the connection.
        case goAway
        /// Sends RST_STREAM with `code` (default 7, REFUSED_STREAM: then the push was not processed).
        case reset
        /// Lowers the concurrent streams to `count` (default 1) with SETTINGS. Answers the push.
        case streams
        /// Keeps the window of streams at 0, on this connection and on new ones, and sends no WINDOW_UPDATE.
        case window
        /// Reads nothing from this connection, until it ends or mode `none`. What waited in the kernel is then
        /// processed: the client may have sent it long before the log's time.
        case stall
        /// Sends TCP's FIN in place of the answer, and continues to read.
        case halfClose
        /// Begins a header block, and sends a CONTINUATION each `delay` (default 1 s) without end. The connection is
        /// occupied by it.
        case headers
        /// Sends the response's head without END_STREAM, and nothing after it.
        case unfinished
        /// Answers after `delay` (default 30 s).
        case late
        /// Holds answers of a connection until there are `count` (default 2), at most `delay` (default 5 s), and sends
        /// them in reverse order.
        case reorder
        /// Processes the push and never answers it.
        case silent
        /// Closes the connection without processing the push.
        case cutBefore
        /// Closes the connection after processing the push, without its answer.
        case cutUnanswered
        /// Closes the connection after the answer.
        case cutAfter

        /// Whether the fault begins with the request's head, or with a connection.
        var isOfConnection: Bool { self == .window || self == .stall }
    }

    var mode: Mode
    /// Seconds.
    var delay: Double?
    var count: Int?
    var code: Int?
    var lastStreamID: Int?
    var reason: String?

    /// RFC 9113 §8.7: a client may repeat a request that was refused with REFUSED_STREAM.
    static let refusedStream = 7

    /// Whether the push counts as handed over, whatever the client learns of it. Of GOAWAY, the stream decides.
    var isProcessed: Bool {
        switch mode {
        case .cutBefore: false
        case .reset: code ?? Self.refusedStream != Self.refusedStream
        default: true
        }
    }
}
