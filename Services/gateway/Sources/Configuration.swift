import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import GatehouseServiceContracts
import GatehouseServiceKit
import GatehouseSettings
import GatehouseTokenValidation
import Redis

/// The gateway's settings; docs/reference/settings.md lists them.
public struct GatewayConfiguration: Sendable {
    /// Gatehouse's own issuer.
    let issuer: TrustedIssuer
    /// Other issuers that routes may trust, and where their keys are.
    let furtherIssuers: [(issuer: TrustedIssuer, keys: IssuersFile.Keys)]
    /// Seconds for which tokens are accepted after their `exp`, because clocks differ.
    let expiryLeeway: Int64
    /// `nil`: the keys that tokens publishes.
    let keysFile: PublicKeyFile?
    /// Seconds for which keys are trusted after the last successful fetch.
    let keysMaximumStaleness: Int64
    /// Seconds for which the last known revocations are trusted once the feed is lost.
    let revocationMaximumStaleness: Int64
    let tokensURLs: [URL]
    let tokensCredential: String
    /// Gatehouse's other services, and the gateway's credential for each.
    let peers: [Peer]
    let routes: RoutesSource
    let table: RouteTable
    let settings: GatewaySettings
    /// The certificate for clients; `nil`: the gateway speaks HTTP without TLS, for example behind a proxy that
    /// terminates it.
    let certificateFiles: (certificate: String, key: String)?
    /// The Redis in which replicas share their limits; `nil`: each replica counts for itself.
    let redis: RedisConfiguration?

    /// One of Gatehouse's services.
    struct Peer: Sendable {
        let name: String
        let urls: [URL]
        let credential: String

        fileprivate init(_ upstream: Upstream) {
            name = upstream.name
            urls = upstream.addresses.compactMap { URL(string: "http://\($0.authority)") }
            credential = upstream.credential ?? ""
        }
    }

    init(_ settings: Settings) {
        issuer = TrustedIssuer(issuer: settings.acceptedIssuer(), audience: settings.acceptedAudience())
        furtherIssuers = Self.furtherIssuers(settings, besides: issuer)
        expiryLeeway =
            settings.seconds(
                "expiryLeeway", default: 0, in: 0...60, "time for which tokens are accepted after `exp`"
            ).components.seconds
        keysFile = Self.keysFile(settings)
        keysMaximumStaleness = settings.keysMaximumStaleness()
        revocationMaximumStaleness = settings.revocationMaximumStaleness()

        let identity = Self.upstream(.identity, settings)
        let tokens = Self.upstream(.tokens, settings)
        let devices = Self.upstream(.devices, settings)
        func upstream(_ owner: PublicRoute.Owner) -> Upstream {
            switch owner {
            case .identity: identity
            case .tokens: tokens
            case .devices: devices
            }
        }
        peers = [tokens, identity, devices].map(Peer.init)
        tokensURLs = peers[0].urls
        tokensCredential = tokens.credential ?? ""
        let basePaths = Self.basePaths(settings)
        let hasConsole = settings.bool("console", default: true, "`false` removes `/console`")
        routes = RoutesSource(
            builtIn: BuiltInRoutes.routes(
                upstream, basePaths: basePaths, serviceTimeout: settings.dependencyTimeout,
                operatorRole: settings.string(
                    "operatorRole", default: BuiltInRoutes.defaultOperatorRole,
                    "role for `/v1/admin`. Must equal `IDENTITY_OPERATOR_ROLE`"),
                hasConsole: hasConsole),
            path: settings.optionalPath("routesFile", "the team's routes. Followed while the service runs"),
            issuers: Set(verbatim: furtherIssuers.map(\.issuer.issuer)), basePaths: basePaths, hasConsole: hasConsole,
            allowsDevelopment: settings.environment == .development)
        table = Self.table(routes, settings)
        self.settings = GatewaySettings(settings)
        certificateFiles = Self.certificateFiles(settings)
        redis = settings.optionalString(
            "redisURL", secret: true,
            "where replicas share limits: `redis://…` or `rediss://…`. Without it each replica counts alone"
        ).flatMap { url in settings.read("redisURL", from: url) { try RedisConfiguration(url: $0) } }
        settings.requireTLS(
            of: "redisURL", by: "redisTLS", isProtected: redis?.isProtected ?? true, remedy: "begin it with rediss://")
    }

    /// The routes in force, one line each: methods, path, authentication, upstreams.
    public var routeTable: String {
        let rows = table.routes.map { route in
            let target =
                switch route.target {
                case .upstream(let upstream):
                    upstream.name + " " + upstream.addresses.map(\.authority).joined(separator: ",")
                case .liveness, .readiness, .document, .consoleSettings: "gateway"
                }
            let roles = route.roles.isEmpty ? "" : " (\(route.roles.sorted().map(\.text).joined(separator: ", ")))"
            let age = route.maximumAuthenticationAge.map { ", at most \($0) s ago" } ?? ""
            return [
                route.methods.description, route.pattern.description, route.authentication.rawValue + age + roles,
                target,
            ]
        }
        let widths = (0..<3).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            zip(row, widths + [0]).map { $0.padding(toLength: max($1, $0.count), withPad: " ", startingAt: 0) }
                .joined(separator: "  ")
        }.joined(separator: "\n")
    }

    private static func basePaths(_ settings: Settings) -> [String] {
        let paths = settings.strings(
            "basePaths", default: BuiltInRoutes.basePaths,
            """
            paths of Gatehouse's own API. Services see `/v1`, or `/api/v1` where the client used that
            """)
        let isPlain = paths.allSatisfy { path in
            path.count > 1 && !path.hasSuffix("/") && !path.contains("{") && PathPattern(path) != nil
                && path.split(separator: "/").first?.lowercased() != "internal"
        }
        if isPlain, !paths.isEmpty, Set(paths).count == paths.count { return paths }
        settings.problem("basePaths", "must be plain paths like /v1, each once")
        return BuiltInRoutes.basePaths
    }

    private static func keysFile(_ settings: Settings) -> PublicKeyFile? {
        let path = settings.optionalPath(
            "keysFile",
            """
            PEM public keys, read every 5 s. Without it the gateway fetches tokens' JWKS every 5 min, or three times \
            within `GATEWAY_KEYS_MAX_STALENESS` if that is shorter. Both are also read when a token names an unknown key
            """)
        guard let path else { return nil }
        let file = PublicKeyFile(path: path, allowsDevelopment: settings.environment == .development)
        do throws(AccessTokenError) {
            _ = try file.read()
        } catch {
            settings.problem("keysFile", "cannot be used: \(path): \(error.message)")
        }
        return file
    }

    private static func furtherIssuers(
        _ settings: Settings, besides own: TrustedIssuer
    ) -> [(issuer: TrustedIssuer, keys: IssuersFile.Keys)] {
        guard let path = settings.optionalPath("issuersFile", "further issuers. Read at start") else { return [] }
        guard let yaml = try? String(contentsOfFile: path, encoding: .utf8) else {
            settings.problem("issuersFile", "cannot be read: \(path)")
            return []
        }
        let file = IssuersFile(yaml: yaml, own: own, allowsDevelopment: settings.environment == .development)
        for problem in file.problems { settings.problem("issuersFile", problem) }
        return file.issuers
    }

    private static func certificateFiles(_ settings: Settings) -> (certificate: String, key: String)? {
        let certificate = settings.optionalPath(
            "tlsCertificateFile",
            """
            certificates in PEM, the server's first. Followed while the service runs. Without it and its key, HTTP is \
            served without TLS
            """)
        let key = settings.optionalPath("tlsKeyFile", "the certificate's key in PEM. Followed while the service runs")
        switch (certificate, key) {
        case (nil, nil): return nil
        case (let certificate?, let key?):
            do throws(ServerCertificate.Failure) {
                _ = try ServerCertificate.read(certificateFile: certificate, keyFile: key)
            } catch {
                settings.problem("tlsCertificateFile", "cannot be used: \(error)")
            }
            return (certificate, key)
        case (nil, _?): settings.problem("tlsCertificateFile", "is missing, but a key is set")
        case (_?, nil): settings.problem("tlsKeyFile", "is missing, but a certificate is set")
        }
        return nil
    }

    private static func upstream(_ owner: PublicRoute.Owner, _ settings: Settings) -> Upstream {
        let key = "\(owner.rawValue)URL"
        let texts = settings.urlTexts(key, "`http` addresses of the replicas of \(owner.rawValue)")
        let addresses = texts.compactMap { text -> Upstream.Address? in
            if let address = Upstream.Address(url: text), !address.isSecure { return address }
            settings.problem(key, "must be like http://127.0.0.1:8081, not '\(text)'")
            return nil
        }
        let credential = settings.secret(
            "\(owner.rawValue)Credential", "the gateway's credential for \(owner.rawValue)")
        return Upstream(name: owner.rawValue, addresses: addresses, credential: credential, isGatehouse: true)
    }

    private static func table(_ source: RoutesSource, _ settings: Settings) -> RouteTable {
        do throws(RoutesSource.Failure) {
            return try source.read()
        } catch {
            for problem in error.problems { settings.problem("routesFile", problem.description) }
            return RouteTable()
        }
    }
}

extension GatewaySettings {
    fileprivate init(_ settings: Settings) {
        self.init()
        let proxies = settings.strings(
            "trustedProxies", default: [],
            """
            addresses and networks of load balancers and proxies whose `X-Forwarded-For` (with or without ports) and \
            `X-Forwarded-Proto` are trusted
            """)
        if let proxies = TrustedProxies(proxies) {
            trustedProxies = proxies
        } else {
            settings.problem("trustedProxies", "must be addresses or networks like 10.0.0.0/8")
        }
        expectsProxyHeader = settings.bool(
            "proxyProtocol", default: false,
            """
            `true`: every connection begins with the PROXY header (version 1 or 2) of a trusted proxy, before TLS. \
            Others are closed
            """)
        if expectsProxyHeader, trustedProxies.isEmpty {
            settings.problem("proxyProtocol", "needs trustedProxies: other peers' headers are refused")
        }
        droppedFields = settings.strings(
            "droppedFields", default: [],
            "request fields that no service receives. In any case; `_` and other symbols count as `-`"
        ).compactMap { name in
            let isPlain =
                !name.isEmpty && FieldSection.tokenBytes.containsAll(name.utf8)
                && Array(name.utf8).withUnsafeBytes { FieldName($0) == .other }
            if isPlain { return Array(name.utf8) }
            settings.problem("droppedFields", "must be names of fields not used by the gateway, unlike '\(name)'")
            return nil
        }
        maximumConnections = settings.int(
            "maximumConnections", default: maximumConnections, in: 1...1_000_000, "open client connections")
        maximumConnectionsPerNetwork = settings.int(
            "maximumConnectionsPerAddress", default: maximumConnectionsPerNetwork, in: 1...1_000_000,
            "open connections of one network. Trusted proxies are exempt")
        maximumRequestsPerConnection = settings.int(
            "maximumRequestsPerConnection", default: maximumRequestsPerConnection, in: 1...1_000_000_000,
            "requests, after which a connection is closed")
        minimumBodyRate = settings.int(
            "minimumBodyRate", default: minimumBodyRate, in: 1...1_000_000_000, unit: "bytes per second",
            "least average rate of a request body")
        minimumResponseRate = settings.int(
            "minimumAnswerRate", default: minimumResponseRate, in: 1...1_000_000_000, unit: "bytes per second",
            "least average rate at which a client must read while bytes wait for it")
        maximumWaitingOutput = settings.int(
            "maximumWaitingOutput", default: maximumWaitingOutput, in: 1 << 20...1 << 40, unit: "bytes",
            "memory for responses that wait for all clients, besides 4 KiB for each")
        maximumWaitingInput = settings.int(
            "maximumWaitingInput", default: maximumWaitingInput, in: 1 << 20...1 << 40, unit: "bytes",
            "memory for request bodies that wait for all upstreams, besides 4 KiB for each")
        maximumRequestsInFlight = settings.int(
            "maximumRequestsInFlight", default: maximumRequestsInFlight, in: 1...1_000_000,
            "requests in flight. More are refused with 503")
        maximumRequestsInFlightPerAddress = settings.int(
            "maximumRequestsInFlightPerAddress", default: max(1, maximumRequestsInFlight / 2),
            computedAs: "half of `GATEWAY_MAXIMUM_REQUESTS_IN_FLIGHT`", in: 1...1_000_000,
            "requests in flight of one address")
        maximumPasswordsInFlight = settings.int(
            "maximumPasswordsInFlight", default: maximumPasswordsInFlight, in: 1...1_000_000,
            """
            requests in flight that have a password hashed. Keep it below identity's `IDENTITY_HASHING_THREADS` + \
            `IDENTITY_HASHING_QUEUE` of one replica
            """)
        maximumWebSockets = settings.int(
            "maximumWebSockets", default: maximumWebSockets, in: 1...1_000_000,
            "open WebSockets and event streams. More are refused with 503")
        maximumWebSocketsPerNetwork = settings.int(
            "maximumWebSocketsPerAddress", default: max(1, maximumWebSockets / 2),
            computedAs: "half of `GATEWAY_MAXIMUM_WEB_SOCKETS`", in: 1...1_000_000,
            "WebSockets and event streams of one network")
        tokenCacheCapacity = settings.int(
            "tokenCacheCapacity", default: tokenCacheCapacity, in: 1...10_000_000,
            "verified tokens that each event loop remembers")
        headTimeout = settings.seconds("headTimeout", default: 10, in: 1...600, "timeout of a request's head")
        idleTimeout = settings.seconds(
            "idleTimeout", default: 75, in: 1...3600, "timeout of a connection without a request")
        upstreamIdleTimeout = settings.seconds(
            "upstreamIdleTimeout", default: 2, in: 1...3600,
            """
            timeout of an unused connection to an upstream; a route's `idleTimeout` replaces it. Keep it below the \
            upstreams' keep-alive and below the 3 s for which Gatehouse's services drain
            """)
        let retryPercent = settings.int(
            "retryPercent", default: 20, in: 0...100, unit: "percent",
            "share of an upstream's requests that may be retried at another address, besides 10 in 10 s")
        retryShare = Double(retryPercent) / 100
        let accessLogPercent = settings.number(
            "accessLogPercent", default: 1, in: 0...100, unit: "percent", "share of responses that are logged")
        accessLogShare = accessLogPercent / 100
        followsClientTraces = settings.bool(
            "tracesFollowClients", default: followsClientTraces,
            """
            `true`: a client's `traceparent` decides whether its trace is recorded. Only for a gateway that your own \
            systems alone can reach
            """)
        addressLimit = Self.limit("address", burst: 6_000, perSecond: 2_000, "requests of one address", settings)
        connectionLimit = Self.limit(
            "connection", burst: 2_000, perSecond: 200,
            "new connections of one network; trusted proxies are exempt", settings)
        userLimit = Self.limit("user", burst: 1_000, perSecond: 200, "requests of one user", settings)
        signInLimit = Self.limit(
            "signIn", burst: 600, perSecond: 20, "requests of one address that sign in or register", settings)
        rejectionLimit = Self.limit(
            "refreshFailure", burst: 300, perSecond: 5, "refused refreshes of one address", settings)
        if !settings.rateLimitsEnabled {
            addressLimit = nil
            connectionLimit = nil
            userLimit = nil
            signInLimit = nil
            rejectionLimit = nil
            limitsRoutes = false
        }
    }

    private static func limit(
        _ name: String, burst: Int, perSecond: Int, _ counted: String, _ settings: Settings
    ) -> RateLimit {
        let capacity = settings.int(
            "\(name)LimitBurst", default: burst, in: 1...10_000_000, "size of the token bucket for \(counted)")
        let rate = settings.int(
            "\(name)LimitPerSecond", default: perSecond, in: 1...10_000_000,
            "tokens per second of the bucket for \(counted)")
        return RateLimit(capacity: capacity, perSecond: Double(rate))
    }
}
