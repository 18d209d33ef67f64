// Apps import one module: what the server says is told in the contract's own types.
@_exported public import Contracts
public import Foundation

/// Gatehouse as an app sees it: sign-in, the user's account, and requests in the user's name.
///
/// One for each process and store. It can be used from everywhere.
public final class GatehouseClient: Sendable {
    public let configuration: GatehouseConfiguration
    /// Who is signed in.
    public let session: Session
    let api: API
    let bearerScope: BearerScope

    /// - Throws: ``GatehouseError/Kind/misuse`` where the address is plain HTTP to another machine, or none at all:
    ///   tokens never travel in the clear.
    public init(configuration: GatehouseConfiguration) throws(GatehouseError) {
        guard Self.isSafe(configuration.baseURL) else {
            throw GatehouseError(.misuse, reason: "the base URL has to begin with https://, or name this machine")
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
    /// Whether it names the machine that it is read on.
    var isOfThisMachine: Bool {
        ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host?.lowercased() ?? "")
    }
}

/// What a client needs to know.
public struct GatehouseConfiguration: Sendable {
    /// The gateway's address: `https://api.example.com`. Plain HTTP is taken to this machine alone.
    ///
    /// The stored session belongs to the server that scheme, host and port name. A client for another server ignores it,
    /// and the next sign-in replaces it. Moving the gateway to another host or port therefore signs every user out.
    /// A new path signs no user out.
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
