import Metrics
import Synchronization

/// The gateway's metrics: by route, never by anything that a client chooses.
final class GatewayMetrics: Sendable {
    private let routes = Mutex<[String: RouteMetrics]>([:])
    private let refusals = Mutex<[Refusal: Counter]>([:])
    private let addresses = Mutex<[String: (setAside: Meter, users: Int)]>([:])
    /// Counts how often an event loop has set an upstream's address aside.
    let setAside = Counter(label: "gatehouse_gateway_upstream_set_aside_total")
    /// Requests that were sent a second time, and those for which the budget had no more.
    let retries = Counter(label: "gatehouse_gateway_retries_total", dimensions: [("result", "sent")])
    let refusedRetries = Counter(label: "gatehouse_gateway_retries_total", dimensions: [("result", "refused")])
    private let connections = Gauge(label: "gatehouse_gateway_connections")

    func route(_ name: String) -> RouteMetrics {
        routes.withLock { routes in
            if let metrics = routes[name] { return metrics }
            let metrics = RouteMetrics(name)
            routes[name] = metrics
            return metrics
        }
    }

    /// On how many event loops the address of an upstream is set aside. Each that asks says when it needs to know no
    /// more: addresses come and go without end.
    func address(_ address: String) -> Meter {
        addresses.withLock { addresses in
            let setAside =
                addresses[address]?.setAside
                ?? Meter(label: "gatehouse_gateway_upstream_set_aside", dimensions: [("address", address)])
            addresses[address] = (setAside, (addresses[address]?.users ?? 0) + 1)
            return setAside
        }
    }

    func forget(address: String) {
        addresses.withLock { addresses in
            guard let known = addresses[address] else { return }
            addresses[address] = known.users > 1 ? (known.setAside, known.users - 1) : nil
            if known.users == 1 { known.setAside.destroy() }
        }
    }

    /// - Parameter connections: open now, in the whole process.
    func report(connections: Int) { self.connections.record(connections) }

    private struct Refusal: Hashable {
        var reason: String
        var route: String
    }

    /// Counts a request that the gateway refused itself.
    ///
    /// - Parameter route: empty where none was found.
    func countRefusal(_ reason: String, route: String = "") {
        let refusal = Refusal(reason: reason, route: route)
        refusals.withLock { refusals in
            if let counter = refusals[refusal] { return counter.increment() }
            let counter = Counter(
                label: "gatehouse_gateway_refusals_total", dimensions: [("reason", reason), ("route", route)])
            refusals[refusal] = counter
            counter.increment()
        }
    }
}
