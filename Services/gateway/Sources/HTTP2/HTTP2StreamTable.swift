/// Which streams of an HTTP/2 connection are open, as the frames tell that went by.
struct HTTP2StreamTable {
    private enum State {
        case open
        case clientEnded
        case gatewayEnded
    }

    /// Streams that were reset of late, of which frames may still be on their way.
    private static let remembered = 256

    private var open: [UInt32: State] = [:]
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
        guard let state = open[stream] else { return false }
        return state != .clientEnded
    }

    /// Whether the client was told of late to forget it.
    func wasReset(_ stream: UInt32) -> Bool { reset.contains(stream) }

    mutating func opened(_ stream: UInt32) {
        last = stream
        open[stream] = .open
    }

    mutating func clientEnded(_ stream: UInt32) {
        guard let state = open[stream] else { return }
        open[stream] = state == .gatewayEnded ? nil : .clientEnded
    }

    mutating func gatewayEnded(_ stream: UInt32) {
        guard let state = open[stream] else { return }
        open[stream] = state == .clientEnded ? nil : .gatewayEnded
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
