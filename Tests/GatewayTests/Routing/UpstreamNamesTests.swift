import Foundation
import GatehouseServiceContracts
import NIOCore
import Synchronization
import TestKit
import Testing

@testable import GatewayService

@Suite("Upstreams that are given as names")
struct UpstreamNamesTests {
    /// A name server as a test wants it.
    private final class NameServer: Sendable {
        struct Outage: Error {}

        private let answers = Mutex<[String: [String]]>([:])
        private let questions = Mutex<[String: Int]>([:])

        /// - Parameter hosts: `nil`: the server fails. One that was never given anything waits for ever.
        func answer(_ name: String, with hosts: [String]?) { answers.withLock { $0[name] = hosts ?? ["fail"] } }

        func asked(_ name: String) -> Int { questions.withLock { $0[name] ?? 0 } }

        @Sendable func addresses(of name: String) async throws -> [String] {
            questions.withLock { $0[name, default: 0] += 1 }
            guard let hosts = answers.withLock({ $0[name] }) else {
                try await Task.sleep(for: .seconds(3600))
                return []
            }
            guard hosts != ["fail"] else { throw Outage() }
            return hosts
        }
    }

    private func table(_ name: String, port: Int) throws -> RouteTable {
        let upstream = Upstream(
            name: name, addresses: [.init(host: name, port: port)], credential: nil, isGatehouse: false)
        return try RouteTable([
            Route(
                name: name, pattern: PathPattern("/x", isPrefix: true)!, methods: .all, authentication: .none,
                target: .upstream(upstream), bodyLimit: 1 << 20, timeout: .seconds(30))
        ])
    }

    /// Runs `body` with upstreams at two addresses of this machine, on one port, which answer `one` and `two`.
    private func withUpstreams(
        _ body: (_ one: RecordingUpstream, _ two: RecordingUpstream, _ port: Int) async throws -> Void
    ) async throws {
        let one = RecordingUpstream(RecordingUpstream.answer("one"))
        let two = RecordingUpstream(RecordingUpstream.answer("two"))
        let port = try await one.start(port: freePort())
        _ = try await two.start(host: "127.0.0.2", port: port)
        try await body(one, two, port)
        await one.stop()
        await two.stop()
    }

    @Test("All addresses of a name are used, and followed as they come and go; a failure changes nothing")
    func following() async throws {
        let names = NameServer()
        names.answer("team.test", with: ["127.0.0.1", "127.0.0.2"])
        try await withUpstreams { one, two, port in
            let options = GatewayHarness.Options { $0.lookup = names.addresses }
            try await GatewayHarness.withGateway(options) { gateway in
                let table = try table("team.test", port: port)
                await gateway.gateway.names.lookUpNew(in: table)
                try gateway.gateway.routes.replace(table)
                let client = try await gateway.connect()
                func send() async throws -> String {
                    try await client.send(GatewayHarness.request("GET /x"))
                    return try await client.answer().body
                }
                try await eventually("both addresses are used") {
                    !(try await send().isEmpty) && one.requests.count > 0 && two.requests.count > 0
                }

                let busy = try await gateway.connect()
                names.answer("team.test", with: ["127.0.0.2"])
                try await eventually("its event loop knows") {
                    try await busy.send(GatewayHarness.request("GET /x"))
                    return try await busy.answer().body == "two"
                }
                try await eventually("the first has no connection left") { one.open == 0 }
                try await busy.send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe")
                try await eventually("the second has the request") { two.begun == two.requests.count + 1 }
                names.answer("team.test", with: nil)
                let asked = names.asked("team.test")
                try await eventually("the name was looked up again") { names.asked("team.test") > asked + 3 }
                for _ in 0..<10 { #expect(try await send() == "two") }

                // The request that is on its way there ends there.
                names.answer("team.test", with: ["127.0.0.1"])
                try await eventually("the first is used") { try await send() == "one" }
                for _ in 0..<10 { #expect(try await send() == "one") }
                try await busy.send("llo")
                #expect(try await busy.answer().body == "two")
                try await eventually("the second has no connection left") { two.open == 0 }
            }
        }
    }

    @Test("The gateway answers 502 on routes to a name that has no address, until it has one")
    func unknown() async throws {
        let names = NameServer()
        names.answer("team.test", with: [])
        try await withUpstreams { _, _, port in
            let options = GatewayHarness.Options { $0.lookup = names.addresses }
            try await GatewayHarness.withGateway(options) { gateway in
                try gateway.gateway.routes.replace(table("team.test", port: port))
                try await eventually("the name has no address") { try await gateway.send("GET /x").status == 502 }
                names.answer("team.test", with: ["127.0.0.1"])
                try await eventually("the first is used") { try await gateway.send("GET /x").body == "one" }
            }
        }
    }

    @Test("A name that takes for ever is asked for once and delays no other")
    func slow() async throws {
        let server = NameServer()
        server.answer("fast.test", with: ["127.0.0.1"])
        var both = try table("fast.test", port: 1)
        let slow = Upstream(
            name: "slow", addresses: [.init(host: "slow.test", port: 1)], credential: nil, isGatehouse: false)
        try both.add(
            Route(
                name: "slow", pattern: PathPattern("/slow")!, methods: .all, authentication: .none,
                target: .upstream(slow), bodyLimit: 0, timeout: .seconds(1)))
        let log = CapturedLog()
        let names = UpstreamNames(
            routes: try CurrentRoutes(both), logger: log.logger, pause: .milliseconds(1), timeout: .milliseconds(1),
            lookup: server.addresses)
        await names.lookUpNew(in: both)
        let asked = server.asked("slow.test")
        let following = Task { try await names.run() }
        try await eventually("the fast name was looked up") { server.asked("fast.test") > 20 }
        #expect(server.asked("slow.test") <= asked + 1)
        #expect(names.addresses.keys.sorted() == ["fast.test"])
        // A failure is told once, however long it lasts.
        server.answer("fast.test", with: nil)
        let now = server.asked("fast.test")
        try await eventually("the fast name is looked up still") { server.asked("fast.test") > now + 10 }
        #expect(log.lines.count { $0.contains("cannot look up") } == 1, "\(log.lines)")
        #expect(names.addresses["fast.test"]?.compactMap(\.ipAddress) == ["127.0.0.1"])
        following.cancel()
        _ = try await following.value
    }

    @Test("The system's resolver finds an upstream at localhost")
    func system() async throws {
        try await withUpstreams { _, _, port in
            try await GatewayHarness.withGateway { gateway in
                let table = try table("localhost", port: port)
                await gateway.gateway.names.lookUpNew(in: table)
                try gateway.gateway.routes.replace(table)
                try await eventually("the first is used") { try await gateway.send("GET /x").body == "one" }
            }
        }
    }
}
