public import AsyncHTTPClient
public import Foundation
public import Logging
public import NIOCore
public import Observability
public import ServiceLifecycle
public import Settings

/// What makes a program one of Gatehouse's services: its name, its settings and how its parts are put together.
public protocol ServiceApplication: Sendable {
    associatedtype Configuration: Sendable

    /// As in `tokens`; prefix of the settings and name in logs.
    static var name: String { get }

    /// The port to listen on unless set otherwise; the admin port lies 10 above.
    static var defaultPort: Int { get }

    /// Reads all of the service's own settings. `settings` notes what is wrong with them.
    ///
    /// - Throws: ``Settings/failure`` once all are read, if the configuration cannot be made from them.
    static func configuration(from settings: Settings) throws(SettingsError) -> Configuration

    /// Puts the parts together. Nothing runs yet.
    static func build(_ configuration: Configuration, boot: ServiceBoot) async throws -> ServiceAssembly
}

/// What every service is given to be built from.
public struct ServiceBoot: Sendable {
    public let logger: Logger
    public let eventLoopGroup: any EventLoopGroup
    /// For calls to other services and to Apple. Shut down after the service's parts have ended.
    public let httpClient: HTTPClient
    /// How long a request waits for PostgreSQL or for another service.
    public let patience: Duration
    /// For the last requests to end in when the service stops.
    public let shutdownGrace: Duration
    /// Where a service with a server of its own listens.
    public let listenAddress: ListenAddress
    /// To be told the port by a service with a server of its own.
    public let listening: ListeningPort
    /// For a service with a server of its own, which answers `/readyz` by it.
    public let readiness: Readiness
    /// How many descriptors the process may have open.
    public let descriptors: Int
    /// Records traces; `nil` where none are.
    public let tracing: Tracing?
}

/// The parts of a built service.
public struct ServiceAssembly: Sendable {
    let services: [any Service]
    let readiness: [ReadinessCheck]
    let server: Server?
    let descriptors: Int
    let admin: [AdminRoute]

    struct Server: Sendable {
        let routes: RoutingResponder
        let credentials: CallerCredentials
        let endsAtDeadline: Bool
    }

    /// - Parameters:
    ///   - services: what runs beside the server; started in order, stopped in reverse after the last request.
    ///   - readiness: what must hold before requests are welcome.
    ///   - router: the routes to serve; `/livez` and `/readyz` are added. `nil` where one of `services` is a server
    ///     of its own.
    ///   - credentials: by which callers are known.
    ///   - endsAtDeadline: whether a route's work is cancelled when its caller's deadline comes, and `TIMEOUT` answered.
    ///     Gatehouse's own services hand the deadline to what they wait for instead.
    ///   - descriptors: how many the services have open at the most, for their connections to a database, say: so many
    ///     are not left to the server's callers.
    ///   - admin: what the admin port answers besides metrics and health.
    public init(
        services: [any Service] = [], readiness: [ReadinessCheck] = [], router: ServiceRouter? = nil,
        credentials: CallerCredentials = CallerCredentials([:]), endsAtDeadline: Bool = false, descriptors: Int = 0,
        admin: [AdminRoute] = [], boot: ServiceBoot
    ) {
        self.admin = admin
        self.services = services
        self.descriptors = descriptors
        self.readiness = readiness
        server = router.map { router in
            AdminRoutes.addHealth(to: router, readiness: boot.readiness)
            return Server(
                routes: router.makeResponder(), credentials: credentials, endsAtDeadline: endsAtDeadline)
        }
    }
}

/// All settings of one service: those that every service has, and its own.
public struct ServiceConfiguration<Application: ServiceApplication>: Sendable {
    public var application: Application.Configuration
    public var environment: Settings.Environment
    public var logLevel: Logger.Level
    public var listenAddress: ListenAddress
    public var adminListenAddress: ListenAddress
    /// How long requests in flight may take to end once the service is told to stop.
    public var shutdownGrace: Duration
    /// How long a request waits for PostgreSQL or for another service.
    public var patience: Duration
    /// Where traces go, if they are recorded.
    public var traces: TraceSettings

    /// Reads the settings.
    ///
    /// - Parameter environment: the process' environment; another one in tests.
    /// - Throws: ``SettingsError`` with all that is wrong at once.
    public static func load(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(SettingsError) -> Self {
        let settings = Settings(service: Application.name, environment: environment)
        // Not thrown before the rest is read: `finish` tells of everything at once.
        let application = Result { () throws(SettingsError) in try Application.configuration(from: settings) }
        let logLevel = settings.choice(SettingName(service: "gatehouse", key: "logLevel"), default: Logger.Level.info)
        let listenAddress = settings.listenAddress(
            "listenAddress", default: ListenAddress(port: Application.defaultPort))
        let adminListenAddress = adminListenAddress(from: settings)
        let shutdownGrace = settings.seconds("shutdownGrace", default: 20, in: 1...3600)
        let traces = TraceSettings(settings)
        try settings.finish()
        return Self(
            application: try application.get(), environment: settings.environment, logLevel: logLevel,
            listenAddress: listenAddress, adminListenAddress: adminListenAddress, shutdownGrace: shutdownGrace,
            patience: settings.patience, traces: traces)
    }

    static func adminListenAddress(from settings: Settings) -> ListenAddress {
        settings.listenAddress("adminListenAddress", default: ListenAddress(port: Application.defaultPort + 10))
    }
}
