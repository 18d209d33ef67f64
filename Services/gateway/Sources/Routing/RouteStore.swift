import Synchronization

/// The routes in force, replaced as a whole. Each event loop keeps a snapshot of its own and is told when to take
/// another: no request asks here.
final class RouteStore: Sendable {
    private struct State {
        var table: RouteTable
        var limiters: [Served: RouteLimiter] = [:]
        var listeners: [@Sendable () -> Void] = []
    }

    /// What no two routes of a table share, as they may a name.
    private struct Served: Hashable {
        let pattern: PathPattern
        let methods: MethodSet

        init(_ route: Route) { (pattern, methods) = (route.pattern, route.methods) }
    }

    private let state: Mutex<State>
    private let limits: SharedLimits

    init(_ table: RouteTable, limits: SharedLimits = SharedLimits()) {
        self.limits = limits
        state = Mutex(State(table: table, limiters: Self.limiters(of: table, after: [:], limits)))
    }

    var table: RouteTable { state.withLock { $0.table } }

    /// `nil` where only what holds for every route limits the route.
    func limiter(of route: Route) -> RouteLimiter? { state.withLock { $0.limiters[Served(route)] } }

    /// Whoever has used up a limit has used it up also when the routes were read again.
    private static func limiters(
        of table: RouteTable, after previous: [Served: RouteLimiter], _ limits: SharedLimits
    ) -> [Served: RouteLimiter] {
        table.routes.reduce(into: [:]) { limiters, route in
            guard let limit = route.limit else { return }
            let kept = previous[Served(route)].flatMap { $0.limit == limit ? $0 : nil }
            limiters[Served(route)] = kept ?? limits.limiter(ofRoute: "\(route.methods) \(route.pattern)", limit)
        }
    }

    /// Calls `listener` now and after each change, on any thread.
    func onChange(_ listener: @escaping @Sendable () -> Void) {
        state.withLock { $0.listeners.append(listener) }
        listener()
    }

    /// Puts other routes in force: for each event loop from the next request on.
    func replace(_ table: RouteTable) {
        let listeners = state.withLock { state in
            state.table = table
            state.limiters = Self.limiters(of: table, after: state.limiters, limits)
            return state.listeners
        }
        for listener in listeners { listener() }
    }
}
