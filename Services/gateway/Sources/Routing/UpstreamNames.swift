import Instruments
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// What the names of upstreams stand for: all addresses of each, looked up again and again, off the event loops.
///
/// What can't be looked up stands for what it stood for before.
final class UpstreamNames: Service {
    /// All addresses of a host; their ports mean nothing. May take long, and ends when its task is cancelled.
    typealias Lookup = @Sendable (_ host: String) async throws -> [SocketAddress]

    private struct State {
        var addresses: [String: [SocketAddress]] = [:]
        var lookingUp: Set<String> = []
        var failing: Set<String> = []
        var listeners: [@Sendable () -> Void] = []
    }

    private struct NoAddress: Error {}

    private let routes: RouteStore
    private let logger: Logger
    private let lookup: Lookup
    private let pause: Duration
    private let patience: Duration
    private let state = Mutex(State())
    private let failures = Counter(
        "gatehouse_gateway_name_lookup_failures_total", help: "Look-ups of upstreams' names that failed.")

    /// - Parameters:
    ///   - routes: the names of their upstreams are followed.
    ///   - pause: between two rounds. With it and the time that a look-up takes an answer is 5 s old at the most.
    ///   - patience: that routes have with names which are new with them.
    init(
        routes: RouteStore, logger: Logger, pause: Duration = .seconds(2), patience: Duration = .seconds(2),
        lookup: @escaping Lookup = SystemLookup.shared.addresses
    ) {
        self.routes = routes
        self.logger = logger
        self.pause = pause
        self.patience = patience
        self.lookup = lookup
    }

    /// The addresses of each host.
    var addresses: [String: [SocketAddress]] { state.withLock { $0.addresses } }

    /// Calls `listener` after each change, on any thread.
    func onChange(_ listener: @escaping @Sendable () -> Void) {
        state.withLock { $0.listeners.append(listener) }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                while !Task.isCancelled {
                    // One that takes long is not looked up a second time meanwhile, and delays no other.
                    for name in self.claimIdle() {
                        group.addTask {
                            await self.lookUp(name)
                            self.state.withLock { _ = $0.lookingUp.remove(name) }
                        }
                    }
                    try? await Task.sleep(for: self.pause)
                }
            }
        }
    }

    /// Looks up the names that would be new with a table, before it comes into force. Those that take too long it does
    /// without.
    func learn(_ table: RouteTable) async {
        let followed = routes.table.names
        let new = state.withLock { state in
            table.names.filter { !followed.contains($0) || state.addresses[$0] == nil }
        }
        guard !new.isEmpty else { return }
        await withTaskGroup(of: Bool.self) { group in
            for name in new {
                group.addTask {
                    await self.lookUp(name)
                    return true
                }
            }
            group.addTask {
                try? await Task.sleep(for: self.patience)
                return false
            }
            var left = new.count
            for await isLookedUp in group {
                left -= 1
                if !isLookedUp || left == 0 { break }
            }
            group.cancelAll()
        }
    }

    private func claimIdle() -> Set<String> {
        let names = routes.table.names
        return state.withLock { state in
            let idle = names.subtracting(state.lookingUp)
            state.lookingUp.formUnion(idle)
            return idle
        }
    }

    private func lookUp(_ name: String) async {
        do {
            let found = try await lookup(name)
            guard !found.isEmpty else { throw NoAddress() }
            take(found, of: name)
        } catch {
            guard !Task.isCancelled else { return }
            failures.increment()
            if state.withLock({ $0.failing.insert(name).inserted }) {
                logger.warning("cannot look up an upstream", metadata: ["host": "\(name)", "error": "\(error)"])
            }
        }
    }

    private func take(_ found: [SocketAddress], of name: String) {
        let listeners = state.withLock { state -> [@Sendable () -> Void] in
            state.failing.remove(name)
            // Name servers give them in another order each time.
            guard Set(found) != state.addresses[name].map(Set.init) else { return [] }
            state.addresses[name] = found
            return state.listeners
        }
        guard !listeners.isEmpty else { return }
        logger.notice(
            "addresses of an upstream",
            metadata: ["host": "\(name)", "addresses": "\(found.compactMap(\.ipAddress).joined(separator: ", "))"])
        for listener in listeners { listener() }
    }
}

extension RouteTable {
    /// The hosts of upstreams that have to be looked up.
    var names: Set<String> {
        var names: Set<String> = []
        for route in routes {
            guard case .upstream(let upstream) = route.target else { continue }
            for address in upstream.addresses where address.literal == nil {
                names.insert(address.host)
            }
        }
        return names
    }
}

extension Upstream.Address {
    /// The address itself; `nil` where the host is a name.
    var literal: SocketAddress? { try? SocketAddress(ipAddress: host, port: port) }
}
