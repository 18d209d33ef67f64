public import Contracts
public import Foundation

/// What a client needs to know.
public struct GatehouseConfiguration: Sendable {
    /// The gateway's address: `https://api.example.com`. Plain HTTP is taken to this machine alone.
    ///
    /// Scheme, host and port name the server in what is stored: a session of another one is not shown to this one, and
    /// stays unseen until somebody signs in. So whoever moves their gateway to another host or port signs everybody out;
    /// a new path signs out nobody.
    public var baseURL: URL
    /// Where the session is kept.
    public var store: any TokenStore
    public var transport: any Transport
    public var connectivity: any Connectivity
    public var telemetry: any Telemetry
    public var clock: any SessionClock
    /// What the user's list of sessions shows of this device.
    public var device: SessionDevice?
    /// Other hosts that are shown the bearer: a team's services that are not behind `baseURL`.
    public var bearerHosts: Set<String>
    public var retries: RetryPolicy
    /// Whether a session that is restored asks the server at once, in the background, whether it still holds. A program
    /// that ends after one request need not: the request itself asks.
    public var checksAtLaunch: Bool

    public init(
        baseURL: URL, store: any TokenStore, transport: any Transport = URLSessionTransport(),
        connectivity: any Connectivity = AlwaysOnline(), telemetry: any Telemetry = NoTelemetry(),
        clock: any SessionClock = SystemClock(), device: SessionDevice? = nil, bearerHosts: Set<String> = [],
        retries: RetryPolicy = RetryPolicy(), checksAtLaunch: Bool = true
    ) {
        self.baseURL = baseURL
        self.store = store
        self.transport = transport
        self.connectivity = connectivity
        self.telemetry = telemetry
        self.clock = clock
        self.device = device
        self.bearerHosts = bearerHosts
        self.retries = retries
        self.checksAtLaunch = checksAtLaunch
    }
}

extension GatehouseConfiguration {
    /// Names the server in what is stored.
    var origin: String {
        let scheme = baseURL.scheme?.lowercased() ?? ""
        let host = baseURL.host?.lowercased() ?? ""
        return "\(scheme)://\(host):\(baseURL.port ?? (scheme == "http" ? 80 : 443))"
    }
}
