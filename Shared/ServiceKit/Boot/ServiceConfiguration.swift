public import Foundation
public import Logging
public import Settings

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
