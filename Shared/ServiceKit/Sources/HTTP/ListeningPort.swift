import Synchronization

/// The port that a server has opened, for those who asked for any free one.
public final class ListeningPort: Sendable {
    private struct State {
        var port: Int?
        var waiting: [CheckedContinuation<Int, Never>] = []
    }

    private let state = Mutex(State())

    public init() {}

    /// Told by the server once it accepts connections.
    public func open(_ port: Int) {
        let waiting = state.withLock { state in
            state.port = port
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: port) }
    }

    /// The port, as soon as there is one.
    public func port() async -> Int {
        await withCheckedContinuation { continuation in
            let port = state.withLock { state in
                if state.port == nil { state.waiting.append(continuation) }
                return state.port
            }
            if let port { continuation.resume(returning: port) }
        }
    }
}
