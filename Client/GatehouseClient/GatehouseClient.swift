// Apps import one module. It re-exports the contract's types that its own declarations name.
@_exported public import struct GatehouseContracts.AccountExport
@_exported public import struct GatehouseContracts.AuthProvider
@_exported public import struct GatehouseContracts.CodePurpose
@_exported public import struct GatehouseContracts.CodeResponse
@_exported public import struct GatehouseContracts.DeviceStatus
@_exported public import enum GatehouseContracts.ErrorCode
@_exported public import struct GatehouseContracts.IdentifierKind
@_exported public import struct GatehouseContracts.Problem
@_exported public import struct GatehouseContracts.PushEnvironment
@_exported public import struct GatehouseContracts.PushKind
@_exported public import struct GatehouseContracts.Registration
@_exported public import struct GatehouseContracts.SessionDevice
public import Foundation
public import GatehouseContracts

/// An app's interface to Gatehouse: sign-in, the user's account, and requests with the user's bearer.
///
/// Create one for each process and store. It is safe to use from any thread.
public final class GatehouseClient: Sendable {
    // Nested, because other libraries of an app have a `User` and a `Device` too.
    /// A device that is registered for notifications.
    public typealias Device = GatehouseContracts.Device
    /// The signed-in user's account.
    public typealias User = GatehouseContracts.User

    public let configuration: GatehouseConfiguration
    /// The current session.
    public let session: GatehouseSession
    let api: API
    let bearerScope: BearerScope
    let bearerRefusals = Locked(BearerRefusals())
    #if canImport(Security)
        private let keychainUse: KeychainAccountUse?
    #endif
    let conflict = Locked<Conflict?>(nil)
    let reauthenticationHandler = Locked<(@Sendable (GatehouseClient, User) async throws -> Void)?>(nil)

    /// - Throws: ``GatehouseError/Kind/misuse`` if the base URL has no host, or is neither https nor this machine. A
    ///   debug build may also use plain HTTP to a development server on the local network. Tokens must not travel in
    ///   clear text. Also `misuse` while a client of another server uses the same Keychain account in this process:
    ///   each would replace the other's session.
    public init(configuration: GatehouseConfiguration) throws(GatehouseError) {
        guard Self.isSafe(configuration.baseURL) else {
            throw GatehouseError(.misuse, reason: "the base URL must begin with https:// or name this machine")
        }
        #if canImport(Security)
            if let store = configuration.store as? KeychainTokenStore {
                keychainUse = try KeychainAccountUse(of: store.account, for: configuration.origin)
            } else {
                keychainUse = nil
            }
        #endif
        self.configuration = configuration
        api = API(configuration: configuration)
        bearerScope = BearerScope(configuration: configuration)
        session = GatehouseSession(configuration: configuration, api: api)
    }

    /// - Parameter isDebugBuild: whether plain HTTP to the local network is allowed.
    static func isSafe(_ url: URL, isDebugBuild: Bool = isDebugBuild) -> Bool {
        guard let host = url.host, !host.isEmpty, url.user == nil else { return false }
        switch url.scheme?.lowercased() {
        case "https": return true
        case "http": return url.isOfThisMachine || isDebugBuild && url.isOfLocalNetwork
        default: return false
        }
    }

    private static var isDebugBuild: Bool {
        #if DEBUG
            true
        #else
            false
        #endif
    }
}

extension URL {
    /// Whether the URL names this machine.
    var isOfThisMachine: Bool {
        ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host?.lowercased() ?? "")
    }

    /// Whether the URL names a machine on the local network: a name of Bonjour (`macbook.local`), or a private or
    /// link-local IPv4 address (RFC 1918, RFC 3927). `NSAllowsLocalNetworking` allows the same.
    var isOfLocalNetwork: Bool {
        guard let host = host?.lowercased() else { return false }
        if host.hasSuffix(".local") { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { UInt8($0) }
        guard parts.count == 4, numbers.count == 4 else { return false }
        switch (numbers[0], numbers[1]) {
        case (10, _), (172, 16...31), (192, 168), (169, 254): return true
        default: return false
        }
    }
}

/// The settings of a client.
public struct GatehouseConfiguration: Sendable {
    /// The gateway's URL: `https://api.example.com`. Plain HTTP is allowed only to this machine, and in
    /// debug builds to the local network.
    ///
    /// The stored session belongs to the server that scheme, host and port name. A client for another server ignores
    /// it, and the next sign-in replaces it. Moving the gateway to another host or port therefore signs every user out.
    /// A new path signs no user out.
    public var baseURL: URL
    /// The store of the session.
    public var store: any TokenStore
    public var transport: any GatehouseTransport
    public var connectivity: any GatehouseConnectivity
    public var telemetry: any GatehouseTelemetry
    public var clock: any SessionClock
    /// This device's description in the user's list of sessions.
    public var device: SessionDevice?
    /// Other hosts that may receive the bearer: the team's services that are not behind `baseURL`.
    public var bearerHosts: Set<String>
    public var retries: GatehouseRetryPolicy
    /// Whether a restored session is verified with the server at once, in the background. A program that ends after one
    /// request does not need this, because the request itself verifies the session.
    public var checksAtLaunch: Bool
    /// Whether a client of ``GatehouseClient/live(baseURL:_:)`` verifies a session that began with Sign in with Apple
    /// when the device reports a revoked consent. Without it, the session ends with the first request after Apple has
    /// notified the server.
    public var monitorsAppleCredential = true
    /// Draws a number uniformly from `0..<1`, for the random part of pauses. Tests replace it.
    var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    public init(
        baseURL: URL, store: any TokenStore, transport: any GatehouseTransport = URLSessionTransport(),
        connectivity: any GatehouseConnectivity = AlwaysOnline(), telemetry: any GatehouseTelemetry = NoTelemetry(),
        clock: any SessionClock = SystemClock(), device: SessionDevice? = nil, bearerHosts: Set<String> = [],
        retries: GatehouseRetryPolicy = GatehouseRetryPolicy(), checksAtLaunch: Bool = true
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
    /// Returns the URL of a path below ``baseURL``, whether that ends with a slash or not.
    ///
    /// - Parameter path: begins with `/`, and is percent-encoded where it needs to be. It may contain a query.
    /// - Returns: `nil` for an invalid path.
    public func url(forPath path: String) -> URL? {
        guard path.hasPrefix("/") else { return nil }
        // Older systems' `URL.appendingPathComponent` keeps the slashes of both sides.
        var stem = Substring(baseURL.absoluteString)
        while stem.hasSuffix("/") { stem.removeLast() }
        return URL(string: stem + path)
    }

    /// Identifies the server in the stored record.
    var origin: String {
        let scheme = baseURL.scheme?.lowercased() ?? ""
        let host = baseURL.host?.lowercased() ?? ""
        return "\(scheme)://\(host):\(baseURL.port ?? (scheme == "http" ? 80 : 443))"
    }
}
