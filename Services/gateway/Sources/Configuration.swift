import AccessToken
import Bytes
import Contracts
import Foundation
import Redis
import ServiceKit
import Settings
import TokenValidation

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
        issuer = TrustedIssuer(
            issuer: settings.string(
                "issuer", default: settings.environment == .development ? "http://gatehouse.localhost" : nil),
            audience: settings.string("audience", default: "gatehouse"))
        furtherIssuers = Self.furtherIssuers(settings, besides: issuer)
        expiryLeeway = settings.seconds("expiryLeeway", default: 0, in: 0...60).components.seconds
        keysFile = Self.keysFile(settings)
        keysMaximumStaleness =
            settings.seconds(
                "keysMaxStaleness", default: 86_400, in: KeyFetcher<TrustedIssuer>.shortestStaleness...Int(Int32.max)
            ).components.seconds
        revocationMaximumStaleness = settings.seconds("revocationMaxStaleness", default: 3_600).components.seconds

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
        let hasConsole = settings.bool("console", default: true)
        routes = RoutesSource(
            builtIn: BuiltInRoutes.routes(
                upstream, basePaths: basePaths, serviceTimeout: settings.dependencyTimeout,
                operatorRole: settings.string("operatorRole", default: BuiltInRoutes.defaultOperatorRole),
                hasConsole: hasConsole),
            path: settings.optionalString("routesFile"), issuers: Set(verbatim: furtherIssuers.map(\.issuer.issuer)),
            basePaths: basePaths, hasConsole: hasConsole,
            allowsDevelopment: settings.environment == .development)
        table = Self.table(routes, settings)
        self.settings = GatewaySettings(settings)
        certificateFiles = Self.certificateFiles(settings)
        redis = settings.optionalString("redisURL", secret: true).flatMap { url in
            settings.read("redisURL", from: url) { try RedisConfiguration(url: $0) }
        }
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
        let paths = settings.strings("basePaths", default: BuiltInRoutes.basePaths)
        let isPlain = paths.allSatisfy { path in
            path.count > 1 && !path.hasSuffix("/") && !path.contains("{") && PathPattern(path) != nil
                && path.split(separator: "/").first?.lowercased() != "internal"
        }
        if isPlain, !paths.isEmpty, Set(paths).count == paths.count { return paths }
        settings.problem("basePaths", "must be plain paths like /v1, each once")
        return BuiltInRoutes.basePaths
    }

    private static func keysFile(_ settings: Settings) -> PublicKeyFile? {
        guard let path = settings.optionalString("keysFile") else { return nil }
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
        guard let path = settings.optionalString("issuersFile") else { return [] }
        guard let yaml = try? String(contentsOfFile: path, encoding: .utf8) else {
            settings.problem("issuersFile", "cannot be read: \(path)")
            return []
        }
        let file = IssuersFile(yaml: yaml, own: own, allowsDevelopment: settings.environment == .development)
        for problem in file.problems { settings.problem("issuersFile", problem) }
        return file.issuers
    }

    private static func certificateFiles(_ settings: Settings) -> (certificate: String, key: String)? {
        switch (settings.optionalString("tlsCertificateFile"), settings.optionalString("tlsKeyFile")) {
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
        let texts = settings.strings(key)
        if texts.isEmpty, settings.optionalString(key) != nil { settings.problem(key, "holds no address") }
        let addresses = texts.compactMap { text in
            if let address = Upstream.Address(url: text), !address.isSecure { return address }
            settings.problem(key, "must be like http://127.0.0.1:8081, not '\(text)'")
            return nil
        }
        return Upstream(
            name: owner.rawValue, addresses: addresses, credential: settings.secret("\(owner.rawValue)Credential"),
            isGatehouse: true)
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
        if let proxies = TrustedProxies(settings.strings("trustedProxies", default: [])) {
            trustedProxies = proxies
        } else {
            settings.problem("trustedProxies", "must be addresses or networks like 10.0.0.0/8")
        }
        expectsProxyHeader = settings.bool("proxyProtocol", default: false)
        if expectsProxyHeader, trustedProxies.isEmpty {
            settings.problem("proxyProtocol", "needs trustedProxies: other peers' headers are refused")
        }
        droppedFields = settings.strings("droppedFields", default: []).compactMap { name in
            let isPlain =
                !name.isEmpty && FieldSection.tokenBytes.containsAll(name.utf8)
                && Array(name.utf8).withUnsafeBytes { FieldName($0) == .other }
            if isPlain { return Array(name.utf8) }
            settings.problem("droppedFields", "must be names of fields not used by the gateway, unlike '\(name)'")
            return nil
        }
        maximumConnections = settings.int("maximumConnections", default: maximumConnections, in: 1...1_000_000)
        maximumConnectionsPerNetwork = settings.int(
            "maximumConnectionsPerAddress", default: maximumConnectionsPerNetwork, in: 1...1_000_000)
        maximumRequestsPerConnection = settings.int(
            "maximumRequestsPerConnection", default: maximumRequestsPerConnection, in: 1...1_000_000_000)
        minimumBodyRate = settings.int("minimumBodyRate", default: minimumBodyRate, in: 1...1_000_000_000)
        minimumResponseRate = settings.int("minimumAnswerRate", default: minimumResponseRate, in: 1...1_000_000_000)
        maximumWaitingOutput = settings.int(
            "maximumWaitingOutput", default: maximumWaitingOutput, in: 1 << 20...1 << 40)
        maximumWaitingInput = settings.int("maximumWaitingInput", default: maximumWaitingInput, in: 1 << 20...1 << 40)
        maximumRequestsInFlight = settings.int(
            "maximumRequestsInFlight", default: maximumRequestsInFlight, in: 1...1_000_000)
        maximumRequestsInFlightPerAddress = settings.int(
            "maximumRequestsInFlightPerAddress", default: max(1, maximumRequestsInFlight / 2), in: 1...1_000_000)
        maximumPasswordsInFlight = settings.int(
            "maximumPasswordsInFlight", default: maximumPasswordsInFlight, in: 1...1_000_000)
        maximumWebSockets = settings.int("maximumWebSockets", default: maximumWebSockets, in: 1...1_000_000)
        maximumWebSocketsPerNetwork = settings.int(
            "maximumWebSocketsPerAddress", default: max(1, maximumWebSockets / 2), in: 1...1_000_000)
        tokenCacheCapacity = settings.int("tokenCacheCapacity", default: tokenCacheCapacity, in: 1...10_000_000)
        headTimeout = settings.seconds("headTimeout", default: 10, in: 1...600)
        idleTimeout = settings.seconds("idleTimeout", default: 75, in: 1...3600)
        upstreamIdleTimeout = settings.seconds("upstreamIdleTimeout", default: 2, in: 1...3600)
        retryShare = Double(settings.int("retryPercent", default: 20, in: 0...100)) / 100
        accessLogShare = Self.accessLogShare(settings)
        followsClientTraces = settings.bool("tracesFollowClients", default: followsClientTraces)
        addressLimit = RateLimit(
            capacity: settings.int("addressLimitBurst", default: 6_000, in: 1...10_000_000),
            perSecond: Double(settings.int("addressLimitPerSecond", default: 2_000, in: 1...10_000_000)))
        connectionLimit = RateLimit(
            capacity: settings.int("connectionLimitBurst", default: 2_000, in: 1...10_000_000),
            perSecond: Double(settings.int("connectionLimitPerSecond", default: 200, in: 1...10_000_000)))
        userLimit = RateLimit(
            capacity: settings.int("userLimitBurst", default: 1_000, in: 1...10_000_000),
            perSecond: Double(settings.int("userLimitPerSecond", default: 200, in: 1...10_000_000)))
        signInLimit = RateLimit(
            capacity: settings.int("signInLimitBurst", default: 600, in: 1...10_000_000),
            perSecond: Double(settings.int("signInLimitPerSecond", default: 20, in: 1...10_000_000)))
        failureLimit = RateLimit(
            capacity: settings.int("refreshFailureLimitBurst", default: 300, in: 1...10_000_000),
            perSecond: Double(settings.int("refreshFailureLimitPerSecond", default: 5, in: 1...10_000_000)))
        if !settings.rateLimitsEnabled {
            addressLimit = nil
            connectionLimit = nil
            userLimit = nil
            signInLimit = nil
            failureLimit = nil
            limitsRoutes = false
        }
    }

    private static func accessLogShare(_ settings: Settings) -> Double {
        guard let text = settings.optionalString("accessLogPercent") else { return 0.01 }
        if let percent = Double(text), (0...100).contains(percent) { return percent / 100 }
        settings.problem("accessLogPercent", "must be a number from 0 to 100, not '\(text)'")
        return 0
    }
}
