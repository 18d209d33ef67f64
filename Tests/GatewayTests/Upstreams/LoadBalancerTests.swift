import Foundation
import GatehouseServiceContracts
import GatehouseTokenValidation
import NIOCore
import NIOEmbedded
import TestKit
import Testing

@testable import GatewayService

@Suite("Which address of an upstream is asked")
struct LoadBalancerTests {
    /// One event loop of a gateway with one route to several addresses.
    private final class Loop {
        let worker: Worker
        let route: Route

        init(
            addresses count: Int, healthCheck: HealthCheck? = nil, settings: GatewaySettings = GatewaySettings()
        ) throws {
            let upstream = Upstream(
                name: "team", addresses: (1...count).map { .init(host: "127.0.0.1", port: $0) }, credential: nil,
                healthCheck: healthCheck, isGatehouse: false)
            route = Route(
                name: "team", pattern: PathPattern("/", isPrefix: true)!, methods: .all, authentication: .none,
                target: .upstream(upstream), bodyLimit: 0, timeout: .seconds(1))
            let routes = try CurrentRoutes(RouteTable([route]))
            let gateway = Gateway(
                settings: settings, routes: routes, names: UpstreamNames(routes: routes, logger: .quiet),
                keys: IssuerKeys(issuer: "i", audience: "a"), revoked: RevokedSessions(maximumStaleness: 0),
                logger: .quiet)
            worker = Worker(eventLoop: EmbeddedEventLoop(), gateway: gateway)
            worker.takeRoutes()
        }

        func pool(_ number: Int) -> UpstreamPool {
            worker.routes.pools.first { $0.key.address.port == number }!.value
        }

        func exchange(
            _ method: RequestMethod = .get, framing: BodyFraming = .length(0), opensStream: Bool = false
        ) -> Exchange {
            Exchange(
                client: ClientConnection(
                    worker: worker, peer: ClientPeer(.unknown, gateway: worker.gateway, isSecure: false)),
                routeState: worker.routes.state(of: route),
                request: AdmittedRequest(
                    head: ByteBuffer(), method: method, path: [], framing: framing, expectsContinue: false,
                    requestID: [], trace: TraceParent(high: 1, low: 1, flags: 0),
                    opensStream: opensStream, clientAddress: .unknown, startedAt: 0, arrivedAt: 0),
                permit: nil)
        }

        var balancer: LoadBalancer { worker.routes.state(of: route).balancer! }

        func choose(for exchange: Exchange, isRetry: Bool = false, now: Int64) -> UpstreamPool? {
            balancer.choose(for: exchange, isRetry: isRetry, now: now)
        }

        /// The ports that many requests go to.
        func ports(isRetry: Bool = false, now: Int64) -> Set<Int> {
            let pools = (0..<500).compactMap { _ in choose(for: exchange(), isRetry: isRetry, now: now) }
            return Set(
                worker.routes.pools.filter { _, pool in pools.contains { $0 === pool } }.compactMap(\.key.address.port))
        }
    }

    private let start: Int64 = 1_000_000_000_000

    @Test("One that is set aside is left out until it is due")
    func setAside() throws {
        let loop = try Loop(addresses: 4)
        #expect(loop.ports(now: start) == [1, 2, 3, 4])
        loop.pool(2).failed(.unreachable, now: start)
        #expect(loop.ports(now: start + Circuit.shortest - 1) == [1, 3, 4])
        loop.pool(2).responded()
        #expect(loop.ports(now: start) == [1, 2, 3, 4])
    }

    @Test("One request at a time probes it, and no repeated one")
    func probe() throws {
        let loop = try Loop(addresses: 2)
        loop.pool(2).failed(.unreachable, now: start)
        let due = start + Circuit.shortest
        #expect(loop.ports(isRetry: true, now: due) == [1])
        var probe: Exchange? = loop.exchange()
        #expect(loop.choose(for: probe!, now: due) === loop.pool(2))
        #expect(loop.ports(now: due) == [1])
        // Its client has gone: the balancer knows no more than before.
        probe = nil
        probe = loop.exchange()
        #expect(loop.choose(for: probe!, now: due) === loop.pool(2))
        loop.pool(2).failed(.noResponse, now: due)
        #expect(loop.ports(now: due + 2 * Circuit.shortest - 1) == [1])
        probe = loop.exchange()
        #expect(loop.choose(for: probe!, now: due + 2 * Circuit.shortest) === loop.pool(2))
        loop.pool(2).responded()
        #expect(loop.ports(now: due) == [1, 2])
    }

    @Test("What cannot be repeated probes nothing, nor does anything where there are health checks")
    func unfitProbes() throws {
        let due = start + Circuit.shortest
        let loop = try Loop(addresses: 2)
        loop.pool(2).failed(.unreachable, now: start)
        let unfit =
            [RequestMethod.post, .put, .patch, .delete].map { loop.exchange($0) }
            + [loop.exchange(framing: .length(1)), loop.exchange(framing: .chunked), loop.exchange(opensStream: true)]
        for exchange in unfit { #expect(loop.choose(for: exchange, now: due) === loop.pool(1)) }
        for method in [RequestMethod.get, .head, .options] {
            let probe = loop.exchange(method)
            #expect(loop.choose(for: probe, now: due) === loop.pool(2))
        }
        // No other replica could answer in its stead.
        loop.pool(1).failed(.unreachable, now: start)
        let last = loop.exchange()
        _ = loop.choose(for: last, now: due)
        #expect(loop.pool(1).probe == nil && loop.pool(2).probe == nil)

        let checked = try Loop(addresses: 2, healthCheck: HealthCheck(path: "/health"))
        #expect(checked.ports(now: start) == [1, 2])
        checked.pool(2).failed(.unreachable, now: start)
        #expect(checked.ports(now: due) == [1])
    }

    @Test("Nothing probes that could not be repeated for want of a budget, which no other routes and names renew")
    func probesWithinTheBudget() throws {
        let loop = try Loop(addresses: 2)
        let now = loop.worker.now
        loop.pool(2).failed(.unreachable, now: now)
        let due = now + Circuit.shortest
        while loop.balancer.takeRetry() {}
        loop.worker.takeRoutes()
        #expect(!loop.balancer.takeRetry())
        #expect(loop.ports(now: due) == [1])
        let later = due + Int64(RetryBudget.seconds + 60) * 1_000_000_000
        let probe = loop.exchange()
        #expect(loop.choose(for: probe, now: later) === loop.pool(2))
    }

    @Test("All event loops share an upstream's budget of retries")
    func retriesOfTheProcess() throws {
        let loop = try Loop(addresses: 2)
        let other = Worker(eventLoop: EmbeddedEventLoop(), gateway: loop.worker.gateway)
        other.takeRoutes()
        let balancer = try #require(other.routes.state(of: loop.route).balancer)
        for _ in 0..<5 * RetryBudget.floor { balancer.countRequest() }
        for _ in 0..<2 * RetryBudget.floor { #expect(loop.balancer.takeRetry()) }
        #expect(!loop.balancer.takeRetry() && !balancer.takeRetry())
    }

    @Test("Never more than half are left out; what failed is repeated where nothing did")
    func floor() throws {
        let loop = try Loop(addresses: 5)
        for number in 1...2 { loop.pool(number).failed(.unreachable, now: start) }
        #expect(loop.ports(now: start) == [3, 4, 5])
        loop.pool(3).failed(.unreachable, now: start)
        #expect(loop.ports(now: start) == [1, 2, 3, 4, 5])
        #expect(loop.ports(isRetry: true, now: start) == [4, 5])
    }

    @Test("When all fail all are tried, and what failed is repeated where the last failure is longest ago")
    func all() throws {
        let loop = try Loop(addresses: 3)
        for number in 1...3 { loop.pool(number).failed(.unreachable, now: start - Int64(number)) }
        #expect(loop.ports(now: start) == [1, 2, 3])
        for number in [3, 2, 1, 3] {
            #expect(loop.choose(for: loop.exchange(), isRetry: true, now: start) === loop.pool(number))
            loop.pool(number).failed(.unreachable, now: start + Int64(4 - number))
        }
    }

    @Test(
        "WebSockets and event streams go where fewer of them are open, and requests where that is so only among equals")
    func streams() throws {
        let loop = try Loop(addresses: 2)
        for _ in 0..<3 { loop.pool(1).streamOpened() }
        #expect(loop.ports(now: start) == [2])
        for _ in 0..<3 {
            let chosen = loop.choose(for: loop.exchange(opensStream: true), now: start)
            #expect(chosen === loop.pool(2))
            chosen?.streamOpened()
        }
        #expect(loop.ports(now: start) == [1, 2])
        loop.pool(2).streamClosed()
        #expect(loop.choose(for: loop.exchange(opensStream: true), now: start) === loop.pool(2))
    }

    @Test("An only address is never left out")
    func only() throws {
        let loop = try Loop(addresses: 1)
        for failure in Circuit.Failure.allCases where failure != .refused {
            for _ in 0..<Circuit.noResponseLimit { loop.pool(1).failed(failure, now: start) }
            #expect(loop.ports(now: start) == [1] && loop.ports(isRetry: true, now: start) == [1])
        }
    }

    @Test("A kept connection that has been idle for too long is not used, whether or not it was closed meanwhile")
    func idle() throws {
        var settings = GatewaySettings()
        // No other connection is opened, whatever the pool counts: those of this test are not its own.
        settings.maximumUpstreamConnections = -1
        let loop = try Loop(addresses: 1, settings: settings)
        let pool = loop.pool(1)
        func keep(since: Int64) throws -> (EmbeddedChannel, UpstreamConnection) {
            let connection = UpstreamConnection(pool: pool)
            let channel = EmbeddedChannel(handler: connection)
            try channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1)).wait()
            pool.release(connection)
            connection.idleSince = since
            return (channel, connection)
        }
        let now = loop.worker.now
        let limit = settings.upstreamIdleTimeout.nanoseconds
        let (old, _) = try keep(since: now - limit - 1)
        let refused = loop.exchange()
        pool.lease(for: refused, isRetry: false)
        #expect(refused.upstreamConnection == nil && !old.isActive)

        let (oldest, _) = try keep(since: now - limit - 1)
        let (young, connection) = try keep(since: now)
        let served = loop.exchange()
        pool.lease(for: served, isRetry: false)
        #expect(served.upstreamConnection === connection && young.isActive && oldest.isActive)
    }

    @Test(
        "What this process lacks is not the address's fault",
        arguments: [
            (ECONNREFUSED, ConnectFailure.refused), (ETIMEDOUT, .unreachable), (EHOSTUNREACH, .unreachable),
            (EADDRNOTAVAIL, .exhausted), (EMFILE, .exhausted), (ENFILE, .exhausted), (ENOBUFS, .exhausted),
        ])
    func blame(_ number: Int32, _ failure: ConnectFailure) throws {
        #expect(ConnectFailure(IOError(errnoCode: number, reason: "connect")) == failure)
        #expect(ConnectFailure(ChannelError.connectTimeout(.seconds(1))) == .unreachable)
        let loop = try Loop(addresses: 2)
        loop.pool(1).failedToConnect(failure)
        #expect(loop.pool(1).isHealthy == (failure == .exhausted))
    }
}
