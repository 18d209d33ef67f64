package import Logging
public import ServiceLifecycle
import Synchronization

/// One thing that a service needs before it can serve.
public struct ReadinessCheck: Sendable {
    /// For operators, for example `postgres` or `keys`.
    public let name: String
    let check: @Sendable () async -> Bool

    public init(_ name: String, _ check: @escaping @Sendable () async -> Bool) {
        self.name = name
        self.check = check
    }
}

/// Whether this process is ready for requests. The checks run in the background, because readiness is queried often.
///
/// As a service it probes every two seconds, as often as Kubernetes asks, and more often while it is not ready.
public final class Readiness: Service, Sendable {
    private struct State {
        /// The checks that failed last; nil before the first round.
        var failing: [String]?
        var checks: [ReadinessCheck] = []
    }

    private let logger: Logger
    private let state = Mutex(State())
    /// Apart from the rest, because every response depends on it.
    private let draining = Atomic(false)

    static let interval = Duration.seconds(2)
    static let startInterval = Duration.milliseconds(50)
    static let timeout = Duration.seconds(1)

    package init(logger: Logger) {
        self.logger = logger
    }

    /// Adds checks. Call it before the service runs.
    package func require(_ checks: [ReadinessCheck]) {
        state.withLock { $0.checks += checks }
    }

    public var isReady: Bool { failing.isEmpty }

    /// Why the service is not ready; empty when it is.
    public var failing: [String] {
        isDraining ? ["shutdown"] : state.withLock { $0.failing ?? ["start"] }
    }

    /// Whether the process is about to stop.
    public var isDraining: Bool { draining.load(ordering: .relaxed) }

    /// Marks the service as not ready, because it is about to stop.
    package func drain() {
        draining.store(true, ordering: .relaxed)
    }

    public func run() async throws {
        // Ends with the last of the services, because readiness is queried until then.
        await cancelWhenGracefulShutdown { [self] in
            while !Task.isCancelled {
                await probe()
                try? await Task.sleep(for: isReady ? Self.interval : Self.startInterval)
            }
        }
    }

    /// Runs every check once, all at the same time.
    func probe() async {
        let failing = await withTaskGroup(of: (String, Bool).self) { group in
            for check in state.withLock(\.checks) {
                group.addTask { (check.name, await Self.succeeds(check)) }
            }
            return await group.reduce(into: [String]()) { if !$1.1 { $0.append($1.0) } }.sorted()
        }
        let before = state.withLock { state in
            defer { state.failing = failing }
            return state.failing
        }
        if failing != before {
            failing.isEmpty
                ? logger.info("ready")
                : logger.warning("not ready", .reason(failing.joined(separator: ", ")))
        }
    }

    /// A check that hangs counts as failed.
    private static func succeeds(_ check: ReadinessCheck) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await check.check() }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }
}
