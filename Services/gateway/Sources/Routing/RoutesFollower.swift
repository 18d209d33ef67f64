import Foundation
import Instruments
import Logging
import ServiceKit
import ServiceLifecycle
import Settings
import UnixSignals

/// Keeps the routes those of the routes file: reads it again when it changes, or a file of authorities that it names, and
/// when a signal asks for it.
///
/// A file that can't be used leaves the routes that are in force as they are.
struct RoutesFollower: Service {
    let source: RoutesSource
    let store: RouteStore
    let names: UpstreamNames
    let logger: Logger
    /// Between two looks at the file.
    var pause = Duration.seconds(1)
    var signals: [UnixSignal] = [.sighup]

    private let isLastSuccessful = Gauge(
        "gatehouse_gateway_routes_last_reload_successful",
        help: "1 if the routes file could be used when it was read last, else 0.")
    private let lastSuccess = Gauge(
        "gatehouse_gateway_routes_last_reload_success_timestamp_seconds",
        help: "When the routes file was last taken, in seconds since 1970.")

    init(source: RoutesSource, store: RouteStore, names: UpstreamNames, logger: Logger) {
        self.source = source
        self.store = store
        self.names = names
        self.logger = logger
    }

    func run() async throws {
        // Also without a file: SIGHUP may be sent to all services at once, and must not end this one.
        let signals = await UnixSignalsSequence(trapping: signals)
        // One reload at a time. However many are asked for meanwhile, one more follows.
        let (asked, ask) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for await _ in signals { ask.yield() } }
                group.addTask { for await _ in asked { await reload() } }
                if let path = source.path {
                    let paths: @Sendable () -> [String] = { [path] + store.table.authoritiesFiles }
                    group.addTask { await FollowedFile(paths: paths, pause: pause).follow { ask.yield() } }
                }
            }
        }
    }

    private func reload() async {
        do {
            let table = try source.read()
            await names.learn(table)
            try store.replace(table)
            isLastSuccessful.set(1)
            lastSuccess.set(Int64(Date.now.timeIntervalSince1970))
            logger.notice("routes in force", metadata: ["routes": "\(table.routes.count)"])
        } catch {
            isLastSuccessful.set(0)
            let problems = (error as? RoutesSource.Failure)?.problems.map { "\($0)" } ?? ["\(error)"]
            for problem in problems {
                logger.error(
                    "the routes file cannot be used, the routes in force stay", metadata: ["problem": "\(problem)"])
            }
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
