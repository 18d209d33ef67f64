// Apps import one module, which re-exports the contract's types.
@_exported public import GatehouseContracts
public import Foundation

/// An app's interface to Gatehouse: sign-in, the user's account, and requests with the user's bearer.
///
/// Create one for each process and store. It is safe to use from any thread.
public final class GatehouseClient: Sendable {
    public let configuration: GatehouseConfiguration
    /// The current session.
    public let session: Session
    let api: API
    let bearerScope: BearerScope

    /// - Throws: ``GatehouseError/Kind/misuse`` if the base URL is not https and not this machine, or has no host.
    ///   Tokens must not travel in clear text.
    public init(configuration: GatehouseConfiguration) throws(GatehouseError) {
        guard Self.isSafe(configuration.baseURL) else {
            throw GatehouseError(.misuse, reason: "the base URL must begin with https:// or name this machine")
        }
        self.configuration = configuration
        api = API(configuration: configuration)
        bearerScope = BearerScope(configuration: configuration)
        session = Session(configuration: configuration, api: api)
    }

    static func isSafe(_ url: URL) -> Bool {
        guard let host = url.host, !host.isEmpty, url.user == nil else { return false }
        switch url.scheme?.lowercased() {
        case "https": return true
        case "http": return url.isOfThisMachine
        default: return false
        }
    }
}

extension URL {
    /// Whether the URL names this machine.
    var isOfThisMachine: Bool {
        ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host?.lowercased() ?? "")
    }
}

/// The settings of a client.
public struct GatehouseConfiguration: Sendable {
    /// The gateway's URL: `https://api.example.com`. Plain HTTP is allowed only to this machine.
    ///
    /// The stored session belongs to the server that scheme, host and port name. A client for another server ignores it,
    /// and the next sign-in replaces it. Moving the gateway to another host or port therefore signs every user out.
    /// A new path signs no user out.
    public var baseURL: URL
    /// The store of the session.
    public var store: any TokenStore
    public var transport: any Transport
    public var connectivity: any Connectivity
    public var telemetry: any Telemetry
    public var clock: any SessionClock
    /// This device's description in the user's list of sessions.
    public var device: SessionDevice?
    /// Other hosts that may receive the bearer: the team's services that are not behind `baseURL`.
    public var bearerHosts: Set<String>
    public var retries: RetryPolicy
    /// Whether a restored session is verified with the server at once, in the background. A program that ends after one
    /// request does not need this, because the request itself verifies the session.
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
    /// Identifies the server in the stored record.
    var origin: String {
        let scheme = baseURL.scheme?.lowercased() ?? ""
        let host = baseURL.host?.lowercased() ?? ""
        return "\(scheme)://\(host):\(baseURL.port ?? (scheme == "http" ? 80 : 443))"
    }
}
