import AsyncHTTPClient
import Foundation
import GatehouseInstruments
public import GatehouseObservability
import GatehouseSettings
public import Logging
public import NIOCore
public import NIOPosix
import ServiceLifecycle
public import UnixSignals

/// A service that is assembled from its configuration and run, in production and in tests.
public struct ServiceProcess<Application: ServiceApplication>: Sendable {
    /// The public port, once it is open.
    public let listening = ListeningPort()
    /// The admin port, once it is open.
    public let adminListening = ListeningPort()
    /// Records traces; `nil` when traces are off. `withSpan` uses it if it is the process's tracer, or the task's
    /// (`withTracer`).
    public let tracer: GatehouseTracer?

    private let configuration: ServiceConfiguration<Application>
    private let logger: Logger
    private let eventLoopGroup: any EventLoopGroup
    private let readiness: Readiness
    private let stopping = AsyncStream<Never>.makeStream()

    public init(
        _ configuration: ServiceConfiguration<Application>, logger: Logger,
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) {
        self.configuration = configuration
        self.logger = logger
        self.eventLoopGroup = eventLoopGroup
        readiness = Readiness(logger: logger)
        tracer = GatehouseTracer(configuration.traces)
    }

    /// Builds the service and runs it until a signal or ``stop()``.
    ///
    /// Shutdown has this order: the service is no longer ready, in-flight requests end, the service's parts stop.
    ///
    /// - Parameter signals: the signals that stop the service.
    public func run(stoppingOn signals: [UnixSignal] = []) async throws {
        try await withHTTPClient { try await run(signals, $0) }
    }

    /// Builds the service, so that all metrics are declared, and runs nothing.
    ///
    /// - Returns: the methods of the public port by path template.
    func describe() async throws -> [String: Set<String>] {
        try await withHTTPClient { try await build($0).methods }
    }

    private func withHTTPClient<Value: Sendable>(_ body: (HTTPClient) async throws -> Value) async throws -> Value {
        let httpClient = HTTPClient(
            eventLoopGroupProvider: .shared(eventLoopGroup), configuration: .gatehouse())
        let value: Value
        do {
            value = try await body(httpClient)
        } catch {
            try? await httpClient.shutdown()
            throw error
        }
        try await httpClient.shutdown()
        return value
    }

    /// Stops the service as a signal would.
    public func stop() {
        stopping.continuation.finish()
    }

    private func run(_ signals: [UnixSignal], _ httpClient: HTTPClient) async throws {
        let services = try await build(httpClient).services
        let gate = DrainGate(readiness: readiness, delay: drainDelay, stopping: stopping.stream)
        var group = ServiceGroupConfiguration(
            services: services.map { .init(service: $0) }
                + [.init(service: gate, successTerminationBehavior: .gracefullyShutdownGroup)],
            gracefulShutdownSignals: signals, logger: lifecycleLogger)
        group.maximumGracefulShutdownDuration = configuration.shutdownGrace + drainDelay
        logger.info("starting")
        try await ServiceGroup(configuration: group).run()
        logger.info("stopped")
    }

    /// The services of the process in the order of their start, and the methods of the public port by path template.
    private func build(
        _ httpClient: HTTPClient
    ) async throws -> (services: [any Service], methods: [String: Set<String>]) {
        let descriptors = FileDescriptors.raiseLimit()
        let boot = ServiceBoot(
            logger: logger, eventLoopGroup: eventLoopGroup, httpClient: httpClient,
            dependencyTimeout: configuration.dependencyTimeout, shutdownGrace: configuration.shutdownGrace,
            listenAddress: configuration.listenAddress, listening: listening, readiness: readiness,
            descriptors: descriptors, tracer: tracer)
        let assembly = try await Application.build(configuration.application, boot: boot)
        // The admin port may be open before the public one.
        readiness.require(assembly.readiness + [ReadinessCheck("listener") { listening.isOpen }])
        // The exporter stops last, so that it exports the spans of the last requests.
        var services: [any Service] = spanExporter(httpClient).map { [$0] } ?? []
        services += assembly.services
        services.append(readiness)
        let limits = ServerConnections(descriptors: descriptors, taken: assembly.descriptors)
        services.append(adminServer(limits, assembly.admin))
        if let server = assembly.server { services.append(publicServer(server, limits)) }
        Gauge(
            "gatehouse_build_info", help: "1, with the version of Gatehouse and the commit that it was built from.",
            labels: [("version", GatehouseVersion.number), ("revision", GatehouseVersion.revision() ?? "unknown")]
        ).set(1)
        return (services, assembly.methods)
    }

    private func spanExporter(_ httpClient: HTTPClient) -> SpanExporter? {
        guard let tracer, let endpoint = configuration.traces.endpoint else { return nil }
        return SpanExporter(
            spans: tracer.spans,
            resource: TraceResource(
                service: Application.name, version: GatehouseVersion.number, instance: UUID().uuidString.lowercased(),
                environment: configuration.environment.rawValue),
            logger: logger,
            send: OTLPSender(
                httpClient: httpClient, endpoint: endpoint, headers: configuration.traces.headers
            ).send)
    }

    /// Below `info`, the life cycle logs its services with all their properties, secrets included.
    private var lifecycleLogger: Logger {
        var logger = logger
        logger.logLevel = max(logger.logLevel, .info)
        return logger
    }

    /// Load balancers need time to notice that the service is not ready before its port closes.
    private var drainDelay: Duration {
        configuration.environment == .production ? Draining.delay : .zero
    }

    private func publicServer(_ server: ServiceAssembly.Server, _ limits: ServerConnections) -> HTTPServer {
        if limits.isLowered {
            logger.notice(
                "the limit of open files lowers that of connections",
                metadata: ["maximumConnections": "\(limits.callers)", "wanted": "\(ServerConnections.wanted)"])
        }
        return HTTPServer(
            address: configuration.listenAddress, maximumConnections: limits.callers,
            pipeline: RequestPipeline(
                routes: server.routes, credentials: server.credentials,
                metrics: ServiceRequestMetrics(methods: server.routes.methods), readiness: readiness,
                databaseTimeout: configuration.dependencyTimeout, tracer: tracer, logger: logger,
                endsAtDeadline: server.endsAtDeadline, isLogged: true),
            eventLoopGroup: eventLoopGroup, listening: listening)
    }

    private func adminServer(_ limits: ServerConnections, _ own: [AdminPortRoute]) -> HTTPServer {
        let routes = AdminPortRoutes.make(readiness: readiness, metrics: Telemetry.metrics, own: own).makeResponder()
        return HTTPServer(
            address: configuration.adminListenAddress, maximumConnections: limits.admin,
            pipeline: RequestPipeline(
                routes: routes, credentials: CallerCredentials([:]), metrics: ServiceRequestMetrics(methods: [:]),
                readiness: readiness, stalls: nil, databaseTimeout: configuration.dependencyTimeout, tracer: nil,
                logger: logger, isLogged: false),
            eventLoopGroup: eventLoopGroup, listening: adminListening)
    }
}

/// The last service to start and the first to stop. When it stops, the process is no longer ready, and the other
/// services wait for the drain delay.
private struct DrainGate: Service {
    let readiness: Readiness
    let delay: Duration
    let stopping: AsyncStream<Never>

    func run() async throws {
        for await _ in stopping.cancelOnGracefulShutdown() {}
        readiness.drain()
        if delay > .zero { try await Task.sleep(for: delay) }
    }
}

/// How a stopping service ends its callers' connections.
public enum Draining {
    /// How long a stopping service still accepts requests in production, each response with `Connection: close`. A
    /// caller that keeps a connection idle for longer gets no such response, and its next request fails. So callers
    /// close idle connections earlier.
    public static let delay = Duration.seconds(3)
    /// How long a caller keeps an idle connection.
    public static let longestIdle = Duration.seconds(2)
}

#if canImport(Glibc)
    import Glibc

    private let openFiles = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
#else
    import Darwin

    private let openFiles = RLIMIT_NOFILE
#endif

/// The number of files that the system lets this process open.
public enum FileDescriptors {
    /// Raises the soft limit to the hard limit. The usual soft limit of 1,024 exists for programs that use `select`.
    ///
    /// - Returns: the new limit.
    public static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(openFiles, &limit) == 0 else { return 1024 }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(openFiles, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
