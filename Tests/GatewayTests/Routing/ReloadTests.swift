import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import Synchronization
import TestKit
import Testing

@testable import GatewayService

@Suite("Routes that are replaced while requests go on")
struct ReloadTests {
    private func table(
        _ path: String, to ports: Int..., authentication: PublicRoute.Bearer = .none, roles: Set<VerbatimString> = []
    ) throws -> RouteTable {
        let upstream = Upstream(
            name: "team", addresses: ports.map { .init(host: "127.0.0.1", port: $0) }, credential: nil,
            isGatehouse: false)
        return try RouteTable([
            Route(
                name: "team", pattern: PathPattern(path, isPrefix: true)!, methods: .all,
                authentication: authentication, roles: roles, target: .upstream(upstream), bodyLimit: 1 << 20,
                timeout: .seconds(30))
        ])
    }

    /// Runs `body` with two upstreams, which answer `a` and `b`.
    private func withUpstreams(
        _ body: (_ a: (upstream: RecordingUpstream, port: Int), _ b: (upstream: RecordingUpstream, port: Int))
            async throws -> Void
    ) async throws {
        let a = RecordingUpstream(RecordingUpstream.answer("a"))
        let b = RecordingUpstream(RecordingUpstream.answer("b"))
        try await body((a, try await a.start()), (b, try await b.start()))
        await a.stop()
        await b.stop()
    }

    @Test("A request keeps the routes it began with; the next one on a kept connection goes by the new ones")
    func inFlight() async throws {
        try await withUpstreams { a, b in
            let (portA, portB) = (a.port, b.port)
            let (upstreamA, upstreamB) = (a.upstream, b.upstream)
            try await GatewayHarness.withGateway { gateway in
                let routes = gateway.gateway.routes
                try routes.replace(table("/x", to: portA))
                let kept = try await gateway.connect()
                try await eventually("the first routes serve") {
                    try await kept.send(GatewayHarness.request("GET /x"))
                    return try await kept.answer().body == "a"
                }
                let busy = try await gateway.connect()
                try await busy.send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe")
                try await eventually("the upstream has the request") { upstreamA.begun == upstreamA.requests.count + 1 }

                try routes.replace(table("/x", to: portB))
                try await eventually("the second routes serve") {
                    try await kept.send(GatewayHarness.request("GET /x"))
                    return try await kept.answer().body == "b"
                }
                try await busy.send("llo")
                let answer = try await busy.answer()
                #expect(answer.status == 200 && answer.body == "a")
                try await busy.send(GatewayHarness.request("GET /x"))
                #expect(try await busy.answer().body == "b")
                #expect(upstreamA.requests.last?.text == "hello")
                try await eventually("the old upstream has no connection left") { upstreamA.open == 0 }
                #expect(upstreamB.open > 0)

                try routes.replace(RouteTable())
                try await eventually("there is no route") {
                    try await kept.send(GatewayHarness.request("GET /x"))
                    return try await kept.answer().status == 404
                }
                try await eventually("the upstream has no connection left") { upstreamB.open == 0 }
            }
        }
    }

    @Test("A limit that is used up stays so when routes are read again, unless it is another")
    func limits() async throws {
        func limiter(_ limit: RateLimit?) throws -> RouteTable {
            try RouteTable([
                Route(
                    name: "x", pattern: PathPattern("/x", isPrefix: true)!, methods: .all, authentication: .none,
                    target: .liveness, bodyLimit: 0, timeout: .seconds(30), limit: limit)
            ])
        }
        func take(_ store: CurrentRoutes) -> RateLimit.Excess? {
            store.inForce.limiter(of: store.table.routes[0])?.take(user: nil, address: AddressKey(value: 1), now: 5)
        }
        let (one, other) = (RateLimit(capacity: 1, perSecond: 1), RateLimit(capacity: 2, perSecond: 1))
        let store = try CurrentRoutes(limiter(one))
        #expect(take(store) == nil && take(store) != nil)
        try store.replace(limiter(one))
        #expect(take(store) != nil)
        try store.replace(limiter(other))
        #expect(take(store) == nil)
        try store.replace(limiter(nil))
        #expect(store.inForce.limiter(of: store.table.routes[0]) == nil)
    }

    @Test("Routes that were in force at one moment keep their limits and shares when others replace them")
    func moment() throws {
        func table(_ limit: RateLimit?) throws -> RouteTable {
            let upstream = Upstream(
                name: "x", addresses: [.init(host: "127.0.0.1", port: 1)], credential: nil, isGatehouse: false)
            return try RouteTable([
                Route(
                    name: "x", pattern: PathPattern("/x", isPrefix: true)!, methods: .all, authentication: .none,
                    target: limit == nil ? .liveness : .upstream(upstream), bodyLimit: 0, timeout: .seconds(30),
                    limit: limit)
            ])
        }
        let limit = RateLimit(capacity: 1, perSecond: 1)
        let store = try CurrentRoutes(table(limit))
        let before = store.inForce
        // An event loop that still builds its snapshot of the former routes.
        try store.replace(table(nil))
        let route = try #require(before.table.routes.first)
        #expect(before.limiter(of: route)?.limit == limit)
        #expect(store.inForce.limiter(of: route) == nil)
        guard case .upstream(let upstream) = route.target else { return }
        try store.replace(table(limit))
        let shared = store.inForce.shared(by: upstream)
        try store.replace(table(RateLimit(capacity: 2, perSecond: 1)))
        #expect(store.inForce.shared(by: upstream).permits === shared.permits)
        #expect(store.inForce.shared(by: upstream).retries === shared.retries)
    }

    @Test("Two routes of one name have each their own limit")
    func limitsOfOneName() throws {
        let limits = [RateLimit(capacity: 1, perSecond: 1), RateLimit(capacity: 2, perSecond: 1)]
        let store = try CurrentRoutes(
            try RouteTable(
                zip(["/a", "/b"], limits).map { path, limit in
                    Route(
                        name: "x", pattern: PathPattern(path, isPrefix: true)!, methods: .all, authentication: .none,
                        target: .liveness, bodyLimit: 0, timeout: .seconds(30), limit: limit)
                }))
        #expect(store.table.routes.map { store.inForce.limiter(of: $0)?.limit } == limits)
    }

    @Test("Connections to what is named as before live on")
    func kept() async throws {
        try await withUpstreams { a, b in
            let (portA, portB, upstreamA) = (a.port, b.port, a.upstream)
            try await GatewayHarness.withGateway(.init { $0.settings.upstreamIdleTimeout = .seconds(60) }) { gateway in
                let routes = gateway.gateway.routes
                let client = try await gateway.connect()
                func send(_ path: String) async throws -> RawClient.Answer {
                    try await client.send(GatewayHarness.request("GET \(path)"))
                    return try await client.answer()
                }
                try routes.replace(table("/0", to: portA))
                try await eventually("the first routes serve") { try await send("/0").status == 200 }
                for number in 1...5 {
                    // Another path, and another address beside the first.
                    try routes.replace(table("/\(number)", to: portA, portB))
                    try await eventually("the next routes serve") { try await send("/\(number)").status == 200 }
                    for _ in 0..<10 { #expect(try await send("/\(number)").status == 200) }
                }
                #expect(upstreamA.connections == 1)
            }
        }
    }

    @Test("A token that was verified before is held against what the route asks now")
    func requirements() async throws {
        try await withUpstreams { a, _ in
            let port = a.port
            try await GatewayHarness.withGateway { gateway in
                let routes = gateway.gateway.routes
                let client = try await gateway.connect()
                let token = try GatewayHarness.token(GatewayHarness.claims(role: "customer"))
                func status() async throws -> Int {
                    try await client.send(GatewayHarness.request("GET /x", token: token))
                    return try await client.answer().status
                }
                try routes.replace(table("/x", to: port, authentication: .required))
                try await eventually("everybody signed in may") { try await status() == 200 }
                try routes.replace(table("/x", to: port, authentication: .required, roles: ["manager"]))
                try await eventually("customers may not") { try await status() == 403 }
                try routes.replace(table("/x", to: port, authentication: .required, roles: ["customer"]))
                try await eventually("customers may") { try await status() == 200 }
            }
        }
    }

    @Test("A bad file leaves the routes in force, and the log says which line is wrong")
    func badFile() async throws {
        try await withUpstreams { a, b in
            let (portA, portB) = (a.port, b.port)
            try await withFile { file in
                try file.write(.init(port: portA))
                try await GatewayHarness.withGateway { gateway in
                    let log = CapturedLog()
                    let following = file.follow(for: gateway.gateway.routes, log: log)
                    defer { following.cancel() }
                    try await eventually("the first file serves") { try await gateway.send("GET /x").body == "a" }
                    // A problem is logged once, so that no two in a row have the same.
                    for bad in ["routes:\n  - name: x\n    path: y", "routes: 5", "routes: [", ""] {
                        let complaints = log.lines.count
                        try file.write(.init(text: bad))
                        try await eventually("the bad file is told of") { log.lines.count > complaints }
                        #expect(log.lines[complaints].contains("cannot be used"), "\(log.lines)")
                        #expect(try await gateway.send("GET /x").body == "a")
                    }
                    #expect(log.lines.contains { $0.contains("line 3, route x: 'y' is not a plain path") })
                    try file.write(.init(port: portB))
                    try await eventually("the next file serves") { try await gateway.send("GET /x").body == "b" }
                }
            }
        }
    }

    @Test("Clients on kept connections notice nothing of a file that changes all the time, and nothing is left of it")
    func underLoad() async throws {
        try await withUpstreams { a, b in
            let ports = [a.port, b.port]
            let (upstreamA, upstreamB) = (a.upstream, b.upstream)
            try await withFile { file in
                try file.write(.init(port: ports[0]))
                try await GatewayHarness.withGateway { gateway in
                    let log = CapturedLog()
                    let following = file.follow(for: gateway.gateway.routes, log: log)
                    defer { following.cancel() }
                    try await eventually("the file serves") { try await gateway.send("GET /x").status == 200 }
                    let load = Load()
                    try await withThrowingTaskGroup(of: Void.self) { clients in
                        for _ in 0..<8 {
                            clients.addTask {
                                let client = try await gateway.connect()
                                while load.goesOn {
                                    try await client.send(GatewayHarness.request("POST /x", body: "x"))
                                    let answer = try await client.answer()
                                    #expect(answer.status == 200 && ["a", "b"].contains(answer.body))
                                }
                                await client.close()
                            }
                        }
                        for number in 1...100 {
                            let reloads = log.lines.count
                            try file.write(.init(port: ports[number % 2]))
                            try await eventually("the file was read") { log.lines.count > reloads }
                        }
                        load.end()
                        try await clients.waitForAll()
                    }
                    #expect(log.lines.allSatisfy { $0.contains("routes in force") }, "\(log.lines)")
                    #expect(!upstreamA.requests.isEmpty && !upstreamB.requests.isEmpty)
                    // The last file names the first alone.
                    try await eventually("the second has no connection left") { upstreamB.open == 0 }
                    try file.write(.init(text: "routes: []"))
                    try await eventually("the first has no connection left") { upstreamA.open == 0 }
                    try await eventually("the gateway has no connection left") {
                        gateway.gateway.openConnections.count == 0
                    }
                }
            }
        }
    }

    // MARK: The file

    private struct RoutesFixture: Sendable {
        struct Content {
            var text: String

            init(text: String) { self.text = text }

            init(port: Int) {
                text = """
                    routes:
                      - name: x
                        path: /x
                        upstreams: [http://127.0.0.1:\(port)]
                        authentication: none
                    """
            }
        }

        let path: String

        func write(_ content: Content) throws {
            try content.text.write(toFile: path, atomically: true, encoding: .utf8)
        }

        func follow(for store: CurrentRoutes, log: CapturedLog) -> Task<Void, any Error> {
            var follower = RoutesFollower(
                source: RoutesSource(builtIn: [], path: path), store: store,
                names: UpstreamNames(routes: store, logger: log.logger), logger: log.logger)
            follower.pause = .milliseconds(1)
            follower.signals = []
            let service = follower
            return Task { try await service.run() }
        }
    }

    private func withFile(_ body: (RoutesFixture) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).yaml").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(RoutesFixture(path: path))
    }
}
