import GatehouseInstruments
import GatehouseServiceKit
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// Checks the addresses of upstreams that have a health check: once for the whole process, while an event loop uses the
/// address.
final class HealthChecker: Service {
    /// The health of one address. Any thread may read it.
    final class Health: Sendable {
        private let up = Atomic<Bool>(true)
        private let passed = Atomic<Int64>(0)
        fileprivate let unhealthy: Gauge

        fileprivate init(_ unhealthy: Gauge) {
            self.unhealthy = unhealthy
            unhealthy.set(0)
        }

        var isUp: Bool { up.load(ordering: .relaxed) }

        /// When the last passed check began; nanoseconds of the workers' clock.
        var passedAt: Int64 { passed.load(ordering: .relaxed) }

        fileprivate func set(isUp: Bool) {
            up.store(isUp, ordering: .relaxed)
            unhealthy.set(isUp ? 0 : 1)
        }

        fileprivate func pass(at time: Int64) { passed.store(time, ordering: .relaxed) }
    }

    private typealias Entry = (endpoint: UpstreamEndpoint, check: UpstreamEndpoint.Check, health: Health)

    private let logger: Logger
    private let group: any EventLoopGroup
    /// The addresses that are checked, and how many event loops use each.
    private let followed = Mutex<[UpstreamEndpoint: (health: Health, users: Int)]>([:])
    private let entered: AsyncStream<Entry>
    private let entering: AsyncStream<Entry>.Continuation
    private let unhealthy = GaugeFamily(
        "gatehouse_gateway_upstream_unhealthy", help: "1 while an upstream's address fails its health check, else 0.",
        labels: ["address", "path"])
    private let passes = HealthChecker.counter("passed")
    private let failures = HealthChecker.counter("failed")

    private static func counter(_ result: String) -> Counter {
        Counter(
            "gatehouse_gateway_health_checks_total", help: "Health checks of upstreams' addresses, by their result.",
            labels: [("result", result)])
    }

    /// - Parameter group: the checks run on its event loops.
    init(logger: Logger, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton) {
        self.logger = logger
        self.group = group
        (entered, entering) = AsyncStream<Entry>.makeStream()
    }

    /// Counts an event loop that uses the address. The event loop calls `leave` when it no longer does.
    ///
    /// - Returns: `nil` where the address has no health check.
    func enter(_ endpoint: UpstreamEndpoint) -> Health? {
        guard let check = endpoint.check else { return nil }
        let (health, isNew) = followed.withLock { followed in
            let known = followed[endpoint]
            let health = known?.health ?? Health(unhealthy.gauge(endpoint.address.authority, check.health.path))
            followed[endpoint] = (health, (known?.users ?? 0) + 1)
            return (health, known == nil)
        }
        if isNew { entering.yield((endpoint, check, health)) }
        return health
    }

    func leave(_ endpoint: UpstreamEndpoint) {
        followed.withLock { followed in
            guard let known = followed[endpoint] else { return }
            followed[endpoint] = known.users > 1 ? (known.health, known.users - 1) : nil
            if known.users == 1 { known.health.unhealthy.remove() }
        }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            await withDiscardingTaskGroup { group in
                for await entry in entered { group.addTask { await self.follow(entry) } }
            }
        }
    }

    private func follow(_ entry: Entry) async {
        let (address, check) = (entry.endpoint.address.authority, entry.check.health)
        var state = HealthState()
        await Periodic(every: check.interval).run {
            guard isFollowed(entry) else { return .never }
            let start = Int64(NIODeadline.now().uptimeNanoseconds)
            let result = await passesCheck(entry)
            guard !Task.isCancelled else { return .never }
            if let passed = result {
                (passed ? passes : failures).increment()
                if passed { entry.health.pass(at: start) }
                if state.checked(passed: passed) {
                    entry.health.set(isUp: state.isUp)
                    logger.notice(
                        state.isUp ? "upstream is healthy again" : "upstream is unhealthy",
                        metadata: ["address": "\(address)"])
                }
            }
            return .after(state.pause(check.interval, chance: .random(in: 0...1)))
        }
    }

    /// Whether the entry is current. An address that was removed and added again has a new entry.
    private func isFollowed(_ entry: Entry) -> Bool {
        followed.withLock { $0[entry.endpoint]?.health === entry.health }
    }

    /// - Returns: `nil` where this process could not send the check.
    private func passesCheck(_ entry: Entry) async -> Bool? {
        let request = """
            GET \(entry.check.health.path) HTTP/1.1\r
            \(entry.check.lines)User-Agent: gatehouse-gateway\r
            Connection: close\r
            \r

            """
        let promise = group.next().makePromise(of: Int.self)
        entry.endpoint.send(request, within: entry.check.health.timeout, promise)
        do {
            let status = try await withTaskCancellationHandler {
                try await promise.futureResult.get()
            } onCancel: {
                promise.fail(CancellationError())
            }
            return (200..<300).contains(status)
        } catch {
            return ConnectFailure(error) == .exhausted ? nil : false
        }
    }
}
