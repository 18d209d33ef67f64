import Synchronization

/// The routes in force, replaced as a whole. Each event loop keeps a snapshot of its own and is told when to take
/// another: no request asks here.
final class RouteStore: Sendable {
    private struct State {
        var table: RouteTable
        var listeners: [@Sendable () -> Void] = []
    }

    private let state: Mutex<State>

    init(_ table: RouteTable) {
        state = Mutex(State(table: table))
    }

    var table: RouteTable { state.withLock { $0.table } }

    /// Calls `listener` now and after each change, on any thread.
    func onChange(_ listener: @escaping @Sendable () -> Void) {
        state.withLock { $0.listeners.append(listener) }
        listener()
    }

    /// Puts other routes in force: for each event loop from the next request on.
    func replace(_ table: RouteTable) {
        let listeners = state.withLock { state in
            state.table = table
            return state.listeners
        }
        for listener in listeners { listener() }
    }
}
