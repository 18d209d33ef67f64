import Foundation
import GatehouseInstruments
import GatehouseServiceKit
import GatehouseThreads
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// Resolves the names of upstreams: all addresses of each, repeatedly, off the event loops.
///
/// If a look-up fails, the name keeps its previous addresses.
final class UpstreamNames: Service {
    /// Returns all numeric addresses of a host. It may take long, and ends when its task is cancelled.
    typealias Lookup = @Sendable (_ host: String) async throws -> [String]

    static let systemLookup: Lookup = { try await NameResolver.shared.addresses(of: $0) }

    private struct State {
        var addresses: [String: [SocketAddress]] = [:]
        var lookingUp: Set<String> = []
        var failing: Set<String> = []
        var listeners: [@Sendable () -> Void] = []
    }

    private struct NoAddress: Error {}

    private let routes: CurrentRoutes
    private let logger: Logger
    private let lookup: Lookup
    private let pause: Duration
    private let timeout: Duration
    private let state = Mutex(State())
    private let failures = Counter(
        "gatehouse_gateway_name_lookup_failures_total", help: "Look-ups of upstreams' names that failed.")

    /// - Parameters:
    ///   - routes: the names of their upstreams are followed.
    ///   - pause: between two rounds. Together with the time of a look-up, the addresses are 5 s old at most.
    ///   - timeout: for the look-ups of names that are new with a table.
    init(
        routes: CurrentRoutes, logger: Logger, pause: Duration = .seconds(2), timeout: Duration = .seconds(2),
        lookup: @escaping Lookup = systemLookup
    ) {
        self.routes = routes
        self.logger = logger
        self.pause = pause
        self.timeout = timeout
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
                await Periodic(every: self.pause).run {
                    // A slow look-up is not started again while it runs, and delays no other.
                    for name in self.claimIdle() {
                        group.addTask {
                            await self.lookUp(name)
                            self.state.withLock { _ = $0.lookingUp.remove(name) }
                        }
                    }
                    return .afterInterval
                }
            }
        }
    }

    /// Looks up the new names of a table before it comes into force. Names whose look-up times out stay unresolved.
    func lookUpNew(in table: RouteTable) async {
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
                try? await Task.sleep(for: self.timeout)
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
            let found = try await lookup(name).map { try SocketAddress(ipAddress: $0, port: 0) }
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
            // Name servers return the addresses in varying order.
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
