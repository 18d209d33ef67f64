import Foundation
import GatehouseInstruments
import GatehouseServiceKit
import GatehouseSettings
import Logging
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Follows the routes file: reads it again when it changes, when a file of authorities that it names changes, and on
/// SIGHUP.
///
/// If a file cannot be used, the routes in force stay, and the files are read again at each check until they can be
/// used.
struct RoutesFollower: Service {
    let source: RoutesSource
    let store: CurrentRoutes
    let names: UpstreamNames
    let logger: Logger
    /// Between two checks of the file.
    var pause = Duration.seconds(1)
    var signals: [UnixSignal] = [.sighup]

    private let isLastSuccessful = Gauge(
        "gatehouse_gateway_routes_last_reload_successful",
        help: "1 if the routes file was valid when it was last read, else 0.")
    private let lastSuccess = Gauge(
        "gatehouse_gateway_routes_last_reload_success_timestamp_seconds",
        help: "When the routes file last came into force, in seconds since 1970.")

    init(source: RoutesSource, store: CurrentRoutes, names: UpstreamNames, logger: Logger) {
        self.source = source
        self.store = store
        self.names = names
        self.logger = logger
    }

    func run() async throws {
        // SIGHUP is trapped even without a file: it may be sent to all services at once, and must not end this one.
        let signals = await UnixSignalsSequence(trapping: signals)
        // One reload runs at a time. All requests during it cause one further reload.
        let (requests, request) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for await _ in signals { request.yield() } }
                group.addTask { for await _ in requests { await reloadUntilUsable() } }
                if let path = source.path {
                    let paths: @Sendable () -> [String] = { [path] + store.table.authoritiesFiles }
                    group.addTask { await FollowedFile(paths: paths, pause: pause).follow { request.yield() } }
                }
            }
        }
    }

    /// Repeats a reload that failed, because its cause may disappear without a change of a followed file: a file of
    /// authorities is followed only once the routes that name it are in force.
    private func reloadUntilUsable() async {
        var logged: [String] = []
        await Periodic(every: pause).run {
            let problems = await reload()
            guard !problems.isEmpty else { return .never }
            if problems != logged {
                for problem in problems {
                    logger.error(
                        "the routes file cannot be used, the routes in force stay", metadata: ["problem": "\(problem)"])
                }
                logged = problems
            }
            return .afterInterval
        }
    }

    /// - Returns: why the routes file cannot be used; empty if its routes are in force.
    private func reload() async -> [String] {
        do {
            let table = try source.read()
            await names.lookUpNew(in: table)
            try store.replace(table)
            isLastSuccessful.set(1)
            lastSuccess.set(Int64(Date.now.timeIntervalSince1970))
            logger.notice("routes in force", metadata: ["routes": "\(table.routes.count)"])
            return []
        } catch {
            isLastSuccessful.set(0)
            return (error as? RoutesSource.Failure)?.problems.map { "\($0)" } ?? ["\(error)"]
        }
    }
}

extension RouteTable {
    /// The files that hold the authorities of upstreams with TLS.
    fileprivate var authoritiesFiles: Set<String> {
        Set(
            routes.compactMap { route in
                guard case .upstream(let upstream) = route.target else { return nil }
                return upstream.authorities?.file
            })
    }
}

/// The routes in force, replaced as a whole. Each event loop keeps its own snapshot and is notified of changes, so no
/// request takes the lock here.
final class CurrentRoutes: Sendable {
    private struct State {
        var routes: RoutesInForce
        var listeners: [@Sendable () -> Void] = []
    }

    private let state: Mutex<State>
    private let limits: SharedLimits

    /// - Throws: errors of `UpstreamTLS`, for authorities that were valid when they were read.
    init(_ table: RouteTable, limits: SharedLimits = SharedLimits()) throws {
        self.limits = limits
        state = Mutex(State(routes: try RoutesInForce(table, limits: limits)))
    }

    var table: RouteTable { inForce.table }

    var inForce: RoutesInForce { state.withLock { $0.routes } }

    /// Calls `listener` now and after each change, on any thread.
    func onChange(_ listener: @escaping @Sendable () -> Void) {
        state.withLock { $0.listeners.append(listener) }
        listener()
    }

    /// Puts other routes in force. Each event loop uses them from the next request on.
    ///
    /// - Throws: the errors of `init`. The routes in force then stay.
    func replace(_ table: RouteTable) throws {
        let listeners = try state.withLock { state in
            state.routes = try RoutesInForce(table, after: state.routes, limits: limits)
            return state.listeners
        }
        for listener in listeners { listener() }
    }
}

/// A table of routes, and what all event loops share for it.
struct RoutesInForce: Sendable {
    /// Identifies a route. Two routes of a table may share a name, but not a pattern and methods.
    private struct Served: Hashable {
        let pattern: PathPattern
        let methods: MethodSet

        init(_ route: Route) { (pattern, methods) = (route.pattern, route.methods) }
    }

    /// What all routes to the same addresses share, on all event loops.
    struct Shared: Sendable {
        fileprivate struct Key: Hashable {
            let addresses: Set<Upstream.Address>
            let isGatehouse: Bool

            init(_ upstream: Upstream) { (addresses, isGatehouse) = (Set(upstream.addresses), upstream.isGatehouse) }
        }

        let permits: RequestPermits.Share
        let retries = SharedRetryBudget()

        fileprivate init(_ upstream: Upstream) { permits = .init(isGatehouse: upstream.isGatehouse) }
    }

    let table: RouteTable
    /// The TLS of each upstream with authorities. All event loops share it: a context holds each of its authorities.
    let tls: [Upstream.Authorities: UpstreamTLS]
    private let limiters: [Served: RouteLimiter]
    private let shared: [Shared.Key: Shared]

    /// - Parameter previous: the routes that these replace.
    /// - Throws: errors of `UpstreamTLS`.
    init(_ table: RouteTable, after previous: RoutesInForce? = nil, limits: SharedLimits) throws {
        self.table = table
        tls = try Self.tls(of: table, after: previous?.tls ?? [:])
        limiters = Self.limiters(of: table, after: previous?.limiters ?? [:], limits)
        shared = Self.shared(of: table, after: previous?.shared ?? [:])
    }

    /// `nil` where only the limits of every route apply.
    func limiter(of route: Route) -> RouteLimiter? { limiters[Served(route)] }

    /// Requests in flight and retries keep counting when the routes are reloaded.
    func shared(by upstream: Upstream) -> Shared { shared[Shared.Key(upstream)] ?? Shared(upstream) }

    private static func shared(
        of table: RouteTable, after previous: [Shared.Key: Shared]
    ) -> [Shared.Key: Shared] {
        table.routes.reduce(into: [:]) { shared, route in
            guard case .upstream(let upstream) = route.target else { return }
            let key = Shared.Key(upstream)
            shared[key] = shared[key] ?? previous[key] ?? Shared(upstream)
        }
    }

    /// Limiters keep their counts when the routes are reloaded.
    private static func limiters(
        of table: RouteTable, after previous: [Served: RouteLimiter], _ limits: SharedLimits
    ) -> [Served: RouteLimiter] {
        table.routes.reduce(into: [:]) { limiters, route in
            guard let limit = route.limit else { return }
            let kept = previous[Served(route)].flatMap { $0.limit == limit ? $0 : nil }
            limiters[Served(route)] = kept ?? limits.limiter(ofRoute: route.sharedLimitName, limit)
        }
    }

    private static func tls(
        of table: RouteTable, after previous: [Upstream.Authorities: UpstreamTLS]
    ) throws -> [Upstream.Authorities: UpstreamTLS] {
        try table.routes.reduce(into: [:]) { tls, route in
            guard case .upstream(let upstream) = route.target, let authorities = upstream.authorities,
                tls[authorities] == nil
            else { return }
            tls[authorities] = try previous[authorities] ?? UpstreamTLS(authorities)
        }
    }
}
