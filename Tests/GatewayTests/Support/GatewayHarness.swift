import Foundation
import GatehouseAccessTokens
import GatehouseBytes
import GatehouseObservability
import GatehouseServiceContracts
import GatehouseTokenValidation
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import TestKit

@testable import GatewayService

/// A gateway on a free port of this machine, in front of recording upstreams.
struct GatewayHarness: Sendable {
    /// Signs the tokens that this gateway takes.
    static let key = try! RSAPrivateKey.generate()
    static let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)

    let port: Int
    let gateway: Gateway
    /// Serves Gatehouse's own routes.
    let own: RecordingUpstream
    /// A team's service, below `/team`.
    let team: RecordingUpstream
    /// Has the gateway stop as SIGTERM does.
    let stop: @Sendable () -> Void

    struct Options: Sendable {
        var settings = GatewaySettings()
        var ownBehaviour = RecordingUpstream.answer("own")
        var teamBehaviour = RecordingUpstream.answer("team")
        var hasKeys = true
        var hasFeed = true
        /// Their keys are not there until a test brings them.
        var furtherIssuers: [TrustedIssuer] = []
        var limits = SharedLimits()
        /// Routes beside the usual ones, made from the team's upstream.
        var routes: @Sendable (Upstream) -> [Route] = { _ in [] }
        /// Ports instead of the recording upstreams'.
        var teamPorts: [Int]?
        var ownPort: Int?
        var teamTimeout = Duration.seconds(30)
        /// For requests to Gatehouse's own services.
        var serviceTimeout = Duration.milliseconds(1500)
        var teamHealthCheck: HealthCheck?
        /// The certificate that clients receive.
        var certificate: ServerCertificate?
        /// Where names are looked up.
        var lookup: UpstreamNames.Lookup = UpstreamNames.systemLookup
        var logger = Logger.quiet
        var tracer: GatehouseTracer?

        init(_ change: (inout Options) -> Void = { _ in }) { change(&self) }
    }

    static func withGateway(
        _ options: Options = Options(), _ body: @Sendable (GatewayHarness) async throws -> Void
    ) async throws {
        let own = RecordingUpstream(options.ownBehaviour)
        let team = RecordingUpstream(options.teamBehaviour)
        let ownPort = try await own.start()
        let teamPort = try await team.start()
        let gateway = try makeGateway(
            options, ownPort: options.ownPort ?? ownPort, teamPorts: options.teamPorts ?? [teamPort])
        let (ports, listening) = AsyncStream<Int>.makeStream()
        let server = GatewayServer(
            gateway: gateway, certificate: options.certificate, group: group, host: "127.0.0.1", port: 0,
            grace: .seconds(5),
            onListening: { listening.yield($0) })
        let services = ServiceGroup(
            services: [gateway.names, gateway.health] + (options.certificate.map { [$0] } ?? []) + [server],
            logger: .quiet)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await services.run() }
            let port = await ports.first { _ in true }!
            do {
                try await body(
                    GatewayHarness(port: port, gateway: gateway, own: own, team: team) {
                        Task { await services.triggerGracefulShutdown() }
                    })
            } catch {
                await services.triggerGracefulShutdown()
                throw error
            }
            await services.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        await own.stop()
        await team.stop()
    }

    static func makeGateway(_ options: Options, ownPort: Int, teamPorts: [Int]) throws -> Gateway {
        func upstream(_ name: String, _ ports: [Int], isGatehouse: Bool) -> Upstream {
            Upstream(
                name: name, addresses: ports.map { .init(host: "127.0.0.1", port: $0) },
                credential: "\(name)-credential", isGatehouse: isGatehouse)
        }
        var team = upstream("team", teamPorts, isGatehouse: false)
        team.healthCheck = options.teamHealthCheck
        let upstreamOfTeam = team
        func route(
            _ path: String, _ authentication: PublicRoute.Bearer, limit: Int = 1 << 40, forwards: Bool = false
        ) -> Route {
            Route(
                name: path, pattern: PathPattern(path, isPrefix: true)!, methods: .all, authentication: authentication,
                target: .upstream(upstreamOfTeam), bodyLimit: limit, timeout: options.teamTimeout, stripsPrefix: true,
                forwardsAuthorization: forwards)
        }
        let routes =
            BuiltInRoutes.routes(
                { upstream($0.rawValue, [ownPort], isGatehouse: true) }, serviceTimeout: options.serviceTimeout) + [
                route("/team", .required), route("/open", .none), route("/optional", .optional),
                route("/small", .none, limit: 1000), route("/bearer", .required, forwards: true),
            ] + options.routes(team)

        let keys = IssuerKeys(
            issuers: [TrustedIssuer(issuer: "http://gatehouse.test", audience: "gatehouse")] + options.furtherIssuers)
        if options.hasKeys { try keys.replace(VerificationKeySet(keys: [key.publicKey])) }
        let revoked = RevokedSessions(maximumStaleness: 3600)
        if options.hasFeed { revoked.apply([], isEnd: true, now: Int64(Date.now.timeIntervalSince1970)) }
        let store = try CurrentRoutes(RouteTable(routes), limits: options.limits)
        let names = UpstreamNames(
            routes: store, logger: options.logger, pause: .milliseconds(5), lookup: options.lookup)
        return Gateway(
            settings: options.settings, routes: store, names: names, keys: keys, revoked: revoked,
            logger: options.logger, limits: options.limits, tracer: options.tracer)
    }

    // MARK: Tokens

    static func claims(
        role: String = "customer", stores: [String] = [], expiresIn: Int64 = 600, session: UUID = UUID(),
        user: UUID = UUID(), audience: String = "gatehouse"
    ) -> AccessTokenClaims {
        let now = Int64(Date.now.timeIntervalSince1970)
        return AccessTokenClaims(
            issuer: "http://gatehouse.test", audience: audience, subject: user, sessionID: session,
            issuedAt: now - 10, expiresAt: now + expiresIn, clientID: "com.example.app", role: role,
            storeIDs: stores)
    }

    static func token(_ claims: AccessTokenClaims = claims(), key: RSAPrivateKey? = nil) throws -> String {
        try AccessTokenSigner(key: key ?? self.key).sign(claims)
    }

    // MARK: Requests

    func connect() async throws -> RawClient { try await RawClient.connect(port: port) }

    /// Sends one request on a connection of its own.
    func send(
        _ line: String, fields: String = "", body: String = "", token: String? = nil
    ) async throws -> RawClient.Answer {
        let client = try await connect()
        defer { Task { await client.close() } }
        // The gateway may answer, and go, before it has taken all.
        try? await client.send(Self.request(line, fields: fields, body: body, token: token))
        return try await client.answer(toHead: line.hasPrefix("HEAD"))
    }

    static func request(_ line: String, fields: String = "", body: String = "", token: String? = nil) -> String {
        var fields = fields
        if let token { fields += "Authorization: Bearer \(token)\r\n" }
        if !body.isEmpty { fields += "Content-Length: \(body.utf8.count)\r\n" }
        return "\(line) HTTP/1.1\r\nHost: gatehouse.test\r\n\(fields)\r\n\(body)"
    }
}
