public import AsyncHTTPClient
public import Foundation
public import GatehouseObservability
public import GatehouseSettings
public import Logging
public import NIOCore
public import ServiceLifecycle

/// One of Gatehouse's services: its name, its settings and the assembly of its parts.
public protocol ServiceApplication: Sendable {
    associatedtype Configuration: Sendable

    /// For example `tokens`. The prefix of the settings and the name in logs.
    static var name: String { get }

    /// The default port. The default admin port is 10 higher.
    static var defaultPort: Int { get }

    /// Reads all of the service's own settings. `settings` collects their problems.
    ///
    /// - Throws: ``Settings/failure`` after all were read, if the configuration cannot be created from them.
    static func configuration(from settings: Settings) throws(SettingsError) -> Configuration

    /// Assembles the parts. No service runs yet, and nothing connects: `<service> describe` builds the service too.
    static func build(_ configuration: Configuration, boot: ServiceBoot) async throws -> ServiceAssembly

    /// Settings with which `<service> describe` builds the service, so that every optional part declares its metrics
    /// and routes. Other settings are missing, and have the placeholders that ``configuration(from:)`` gives them.
    static var exampleSettings: [String: String] { get throws }
}

extension ServiceApplication {
    public static var exampleSettings: [String: String] { [:] }
}

/// The resources from which every service is built.
public struct ServiceBoot: Sendable {
    public let logger: Logger
    public let eventLoopGroup: any EventLoopGroup
    /// For calls to other services and to Apple. Shut down after the service's parts have ended.
    public let httpClient: HTTPClient
    /// The timeout of a request for PostgreSQL or for another service.
    public let dependencyTimeout: Duration
    /// Time allowed for in-flight requests at shutdown.
    public let shutdownGrace: Duration
    /// The listen address for a service with a server of its own.
    public let listenAddress: ListenAddress
    /// A service with a server of its own reports its port here.
    public let listening: ListeningPort
    /// A service with a server of its own answers `/readyz` from this.
    public let readiness: Readiness
    /// The number of descriptors that the process may have open.
    public let descriptors: Int
    /// Records traces; `nil` when traces are off.
    public let tracer: GatehouseTracer?
}

/// The parts of a built service.
public struct ServiceAssembly: Sendable {
    let services: [any Service]
    let readiness: [ReadinessCheck]
    let server: Server?
    /// The methods by path template.
    let methods: [String: Set<String>]
    let descriptors: Int
    let admin: [AdminPortRoute]

    struct Server: Sendable {
        let routes: RoutingResponder
        let credentials: CallerCredentials
        let endsAtDeadline: Bool
    }

    /// - Parameters:
    ///   - services: the services besides the server. They start in order, and stop in reverse after the last request.
    ///   - readiness: the conditions under which the service is ready.
    ///   - router: the routes to serve; `/livez` and `/readyz` are added. `nil` if one of `services` is a server of its
    ///     own.
    ///   - methods: the methods by path template of a server of its own.
    ///   - credentials: the credentials of callers.
    ///   - endsAtDeadline: whether a route's work is cancelled at its caller's deadline and answered `TIMEOUT`.
    ///     In Gatehouse's own services each operation ends at the current deadline instead.
    ///   - descriptors: the most descriptors that the services have open, for example for connections to a database.
    ///     They are reserved and reduce the number of the server's connections.
    ///   - admin: the routes of the admin port besides metrics and health.
    public init(
        services: [any Service] = [], readiness: [ReadinessCheck] = [], router: ServiceRouter? = nil,
        methods: [String: Set<String>] = [:], credentials: CallerCredentials = CallerCredentials([:]),
        endsAtDeadline: Bool = false, descriptors: Int = 0, admin: [AdminPortRoute] = [], boot: ServiceBoot
    ) {
        self.admin = admin
        self.services = services
        self.descriptors = descriptors
        self.readiness = readiness
        server = router.map { router in
            AdminPortRoutes.addHealth(to: router, readiness: boot.readiness)
            return Server(
                routes: router.makeResponder(), credentials: credentials, endsAtDeadline: endsAtDeadline)
        }
        self.methods = server?.routes.methods ?? methods
    }
}

/// All settings of one service: the common ones and its own.
public struct ServiceConfiguration<Application: ServiceApplication>: Sendable {
    public var application: Application.Configuration
    public var environment: Settings.Environment
    public var logLevel: Logger.Level
    public var listenAddress: ListenAddress
    public var adminListenAddress: ListenAddress
    /// Time allowed for in-flight requests at shutdown.
    public var shutdownGrace: Duration
    /// The timeout of a request for PostgreSQL or for another service.
    public var dependencyTimeout: Duration
    /// The destination of traces, if any.
    public var traces: TraceSettings

    /// Reads the settings.
    ///
    /// - Parameter environment: the environment of the process, or a test's own.
    /// - Throws: ``SettingsError`` with all problems.
    public static func load(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(SettingsError) -> Self {
        let settings = Settings(service: Application.name, environment: environment)
        let configuration = read(settings)
        // Before `get`: it also reports the problems of settings that were read after the failure.
        try settings.finish()
        return try configuration.get()
    }

    /// Reads every setting. `settings` collects their problems and declarations.
    static func read(_ settings: Settings) -> Result<Self, SettingsError> {
        let application = Result { () throws(SettingsError) in try Application.configuration(from: settings) }
        let logLevel = settings.choice(
            .gatehouse("logLevel"), default: Logger.Level.info, "least severe level that is logged")
        let listenAddress = settings.listenAddress(
            "listenAddress", default: ListenAddress(port: Application.defaultPort),
            "address for requests. Port 0 takes any free port")
        let adminListenAddress = adminListenAddress(from: settings)
        let shutdownGrace = settings.seconds(
            "shutdownGrace", default: 20, in: 1...3600, "time allowed for in-flight requests at shutdown")
        let traces = TraceSettings(settings)
        return application.map {
            Self(
                application: $0, environment: settings.environment, logLevel: logLevel,
                listenAddress: listenAddress, adminListenAddress: adminListenAddress, shutdownGrace: shutdownGrace,
                dependencyTimeout: settings.dependencyTimeout, traces: traces)
        }
    }

    static func adminListenAddress(from settings: Settings) -> ListenAddress {
        settings.listenAddress(
            "adminListenAddress", default: ListenAddress(port: Application.defaultPort + 10),
            "address for `/metrics`, `/livez`, `/readyz`. It has no authentication: do not expose it")
    }
}
