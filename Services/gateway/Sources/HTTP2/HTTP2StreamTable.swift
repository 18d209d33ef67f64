/// Which streams of an HTTP/2 connection are open, as the frames tell that went by.
struct HTTP2StreamTable {
    private enum State {
        case open
        case clientEnded
        case gatewayEnded
    }

    private struct Stream {
        var state = State.open
        /// Bytes of padding for which the client has not got room again.
        var padding = 0
    }

    /// Bytes of padding for which the client gets room again at once: a part of a stream's window.
    private static let returnedPadding = 4096

    /// Streams that were reset of late, of which frames may still be on their way.
    private static let remembered = 256

    private var open: [UInt32: Stream] = [:]
    /// The last that the client has opened.
    private(set) var last: UInt32 = 0
    /// Beyond that the client was told to open none.
    private(set) var lastAllowed = UInt32.max
    private var reset: [UInt32] = []
    private var oldestReset = 0

    var count: Int { open.count }

    func isOpen(_ stream: UInt32) -> Bool { open[stream] != nil }

    /// Whether the client may send DATA on it.
    func takesData(_ stream: UInt32) -> Bool {
        guard let state = open[stream]?.state else { return false }
        return state != .clientEnded
    }

    /// Counts padding that was taken out of a stream's DATA.
    ///
    /// - Returns: for how many bytes the client is to get room again.
    mutating func padded(_ stream: UInt32, by count: Int) -> Int? {
        guard takesData(stream), let padding = open[stream]?.padding else { return nil }
        let isDue = padding + count >= Self.returnedPadding
        open[stream]?.padding = isDue ? 0 : padding + count
        return isDue ? padding + count : nil
    }

    /// Whether the client was told of late to forget it.
    func wasReset(_ stream: UInt32) -> Bool { reset.contains(stream) }

    mutating func opened(_ stream: UInt32) {
        last = stream
        open[stream] = Stream()
    }

    mutating func clientEnded(_ stream: UInt32) {
        guard let state = open[stream]?.state else { return }
        open[stream] = state == .gatewayEnded ? nil : Stream(state: .clientEnded)
    }

    mutating func gatewayEnded(_ stream: UInt32) {
        guard let state = open[stream]?.state else { return }
        if state == .clientEnded { open[stream] = nil } else { open[stream]?.state = .gatewayEnded }
    }

    mutating func clientReset(_ stream: UInt32) { open[stream] = nil }

    mutating func gatewayReset(_ stream: UInt32) {
        open[stream] = nil
        if reset.count < Self.remembered {
            reset.append(stream)
        } else {
            reset[oldestReset] = stream
            oldestReset = (oldestReset + 1) % Self.remembered
        }
    }

    mutating func wentAway(after stream: UInt32) { lastAllowed = min(lastAllowed, stream) }
}
