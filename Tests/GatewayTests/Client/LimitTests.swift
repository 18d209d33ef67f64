import Foundation
import NIOHTTP1
import Synchronization
import TestKit
import Testing

@testable import GatewayService

@Suite("Limits of connections, requests and bodies")
struct LimitTests {
    /// Opens connections and waits until they are counted: event loops do so in any order.
    private func fill(_ gateway: GatewayHarness, _ count: Int) async throws -> [RawClient] {
        let before = gateway.gateway.openConnections.count
        var clients: [RawClient] = []
        for _ in 0..<count { clients.append(try await gateway.connect()) }
        try await eventually("all connections are counted") {
            gateway.gateway.openConnections.count == before + count
        }
        return clients
    }

    /// Opens connections that all carry a request.
    private func fillBusy(_ gateway: GatewayHarness, _ count: Int) async throws -> [RawClient] {
        var clients: [RawClient] = []
        for _ in 0..<count {
            let client = try await gateway.connect()
            // At once: a connection without a request is closed after a while.
            try await client.send(GatewayHarness.request("GET /open"))
            clients.append(client)
        }
        try await eventually("all requests are forwarded") { gateway.team.requests.count == count }
        return clients
    }

    @Test("Where no connection is idle, a request beyond the limit is refused, and far beyond it no client is heard")
    func connectionLimit() async throws {
        let options = GatewayHarness.Options {
            $0.settings.maximumConnections = 20
            $0.settings.overLimitTimeout = .seconds(60)
            // A request that timed out would leave its connection idle.
            $0.teamTimeout = .seconds(600)
            $0.teamBehaviour = { _ in [.pause] }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            var clients = try await fillBusy(gateway, 20)
            clients += try await fill(gateway, 1)
            let farBeyond = try await gateway.connect()
            #expect(try await farBeyond.untilClosed().isEmpty)
            let last = try #require(clients.last)
            try await last.send(GatewayHarness.request("GET /open"))
            let refused = try await last.answer()
            #expect(refused.status == 503)
            #expect(refused.code == "UNAVAILABLE")
            #expect(refused["connection"] == "close")
            for client in clients { await client.close() }
        }
    }

    @Test("At the limit of connections, a newcomer replaces the longest idle connection of the network with most")
    func idleConnections() async throws {
        let options = GatewayHarness.Options {
            $0.settings.maximumConnections = 5
            $0.settings.trustedProxies = TrustedProxies(["127.0.0.1"])!
            $0.settings.expectsProxyHeader = true
        }
        try await GatewayHarness.withGateway(options) { gateway in
            func connect(from address: String) async throws -> RawClient {
                let client = try await gateway.connect()
                try await client.send("PROXY TCP6 \(address) 2001:db8::1 1 2\r\n" + GatewayHarness.request("GET /open"))
                #expect(try await client.answer().status == 200)
                return client
            }
            let other = try await connect(from: "2001:db8:2::1")
            // Four networks of /64 in one /48.
            var attacker: [RawClient] = []
            for number in 0..<4 { attacker.append(try await connect(from: "2001:db8:1:\(number)::1")) }
            // The first is no longer the one that is idle for longest.
            try await attacker[0].send(GatewayHarness.request("GET /open"))
            #expect(try await attacker[0].answer().status == 200)
            // One connection beyond the limit is heard, so each newcomer comes when the former one is closed.
            var newcomers: [RawClient] = []
            for (address, evicted) in zip(["2001:db8:3::1", "2001:db8:4::1"], attacker[1...2]) {
                newcomers.append(try await connect(from: address))
                #expect(try await evicted.untilClosed().isEmpty)
                try await eventually("it is closed") { gateway.gateway.openConnections.count == 5 }
            }
            for client in [other, attacker[0], attacker[3]] + newcomers {
                try await client.send(GatewayHarness.request("GET /open"))
                #expect(try await client.answer().status == 200)
                await client.close()
            }
        }
    }

    @Test("A /48 holds as many connections as one address")
    func connectionsOfANetwork() async throws {
        let options = GatewayHarness.Options {
            $0.settings.maximumConnectionsPerNetwork = 2
            $0.settings.trustedProxies = TrustedProxies(["127.0.0.1"])!
            $0.settings.expectsProxyHeader = true
        }
        try await GatewayHarness.withGateway(options) { gateway in
            var clients: [RawClient] = []
            for (address, status) in [
                ("2001:db8:1::1", 200), ("2001:db8:1:1::1", 200), ("2001:db8:1:2::1", 503), ("2001:db8:2::1", 200),
            ] {
                let client = try await gateway.connect()
                try await client.send("PROXY TCP6 \(address) 2001:db8::1 1 2\r\n" + GatewayHarness.request("GET /open"))
                #expect(try await client.answer().status == status, "\(address)")
                clients.append(client)
            }
            for client in clients { await client.close() }
        }
    }

    @Test("An address that opens connections too fast has the next ones closed before anything is said")
    func connectionRate() async throws {
        let slow = RateLimit(capacity: 2, perSecond: 0.001)
        let options = GatewayHarness.Options { $0.settings.connectionLimit = slow }
        try await GatewayHarness.withTLSGateway(options) { gateway, tls in
            for number in 1...3 {
                let client = try await RawClient.connect(port: gateway.port, tls: number == 1 ? nil : tls)
                if number == 1 {
                    try await eventually("it is counted") { gateway.gateway.openConnections.count == 1 }
                }
                // The first has no handshake, and counts.
                // The second has its handshake, and then speaks HTTP/1.1 where HTTP/2 was agreed on.
                if number == 2 {
                    try await client.send(GatewayHarness.request("GET /open"))
                    #expect(try await !client.untilClosed().isEmpty)
                }
                if number == 3 { #expect(try await client.untilClosed().isEmpty) }
                await client.close()
            }
        }
        let proxied = GatewayHarness.Options {
            $0.settings.connectionLimit = slow
            $0.settings.trustedProxies = TrustedProxies(["127.0.0.1"])!
            $0.settings.expectsProxyHeader = true
        }
        try await GatewayHarness.withGateway(proxied) { gateway in
            for (address, isServed) in [("1.1.1.1", true), ("1.1.1.1", true), ("1.1.1.1", false), ("1.1.1.2", true)] {
                let client = try await gateway.connect()
                try await client.send("PROXY TCP4 \(address) 192.0.2.1 1 2\r\n" + GatewayHarness.request("GET /open"))
                if isServed {
                    #expect(try await client.answer().status == 200)
                } else {
                    #expect(try await client.untilClosed().isEmpty)
                }
                await client.close()
            }
        }
    }

    @Test("The rate of new connections of an IPv6 /48 is that of one address")
    func connectionRateOfANetwork() async throws {
        let options = GatewayHarness.Options {
            $0.settings.connectionLimit = RateLimit(capacity: 2, perSecond: 0.001)
        }
        try await GatewayHarness.withGateway(options) { gateway in
            for (address, isAdmitted) in [
                ("2001:db8:1::1", true), ("2001:db8:1:1::1", true), ("2001:db8:1:2::1", false), ("2001:db8:2::1", true),
            ] {
                let address = try #require(ClientAddress(address))
                #expect(gateway.gateway.admitsConnection(from: address, now: 0) == isAdmitted, "\(address)")
            }
        }
    }

    @Test("Streams of HTTP/2 whose responses their client does not take keep no connection from others")
    func openStreams() async throws {
        let options = GatewayHarness.Options { $0.settings.maximumConnections = 2 }
        try await GatewayHarness.withTLSGateway(options) { gateway, tls in
            var clients: [RawHTTP2Client] = []
            for _ in 0..<2 {
                var client = try await RawHTTP2Client(
                    port: gateway.port, tls: tls,
                    sendingAtOnce: [.initialWindow(0), .request(1, "GET", "/nothing", ends: true)])
                while client.answers[1]?.status != 404 { _ = try await client.next() }
                #expect(client.answers[1]?.isComplete == false)
                clients.append(client)
            }
            var newcomer = try await RawHTTP2Client(port: gateway.port, tls: tls)
            try await newcomer.send(.request(1, "GET", "/open", ends: true))
            #expect(try await newcomer.answer(1).status == 200)
            try await eventually("another one is closed") { gateway.gateway.openConnections.count == 2 }
            try await newcomer.send(.request(3, "GET", "/open", ends: true))
            #expect(try await newcomer.answer(3).status == 200)
            for client in clients + [newcomer] { await client.close() }
        }
    }

    @Test("A client that does not read its responses keeps no connection from others")
    func unreadResponses() async throws {
        let options = GatewayHarness.Options { $0.settings.maximumConnections = 1 }
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await RawClient.connect(port: gateway.port, reads: false)
            try await client.send(String(repeating: GatewayHarness.request("GET /openapi.json"), count: 200))
            _ = try await whenStill("its responses wait") { gateway.gateway.output.bytes }
            let newcomer = try await gateway.connect()
            for _ in 0..<2 {
                try await newcomer.send(GatewayHarness.request("GET /open"))
                #expect(try await newcomer.answer().status == 200)
                try await eventually("the other one is closed") { gateway.gateway.openConnections.count == 1 }
            }
            for client in [client, newcomer] { await client.close() }
        }
    }

    @Test(
        "A connection beyond the limit stays silent: it is closed after its own timeout, and a byte buys no time",
        .timeLimit(.minutes(2)), arguments: [true, false])
    func silence(isLimitOfNetwork: Bool) async throws {
        let options = GatewayHarness.Options {
            if isLimitOfNetwork {
                $0.settings.maximumConnectionsPerNetwork = 2
            } else {
                $0.settings.maximumConnections = 2
            }
            $0.settings.overLimitTimeout = .milliseconds(200)
            // Those of other connections never end the wait.
            $0.settings.headTimeout = .seconds(3600)
            $0.settings.idleTimeout = .seconds(3600)
            $0.teamBehaviour = { _ in [.pause] }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let clients = try await fillBusy(gateway, 2)
            for text in ["", "G"] {
                let beyond = try await gateway.connect()
                try? await beyond.send(text)
                #expect(try await beyond.untilClosed().isEmpty)
            }
            #expect(gateway.team.open == 2)
            for client in clients { await client.close() }
        }
    }

    @Test("One address may hold so many connections, and a connection so many requests")
    func connectionsOfAnAddress() async throws {
        let options = GatewayHarness.Options {
            $0.settings.maximumConnectionsPerNetwork = 2
            $0.settings.maximumRequestsPerConnection = 3
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let request = GatewayHarness.request("GET /open")
            let held = [try await gateway.connect(), try await gateway.connect()]
            for client in held {
                try await client.send(request)
                #expect(try await client.answer().status == 200)
            }
            let third = try await gateway.connect()
            try await third.send(request)
            #expect(try await third.answer().status == 503)
            try await held[0].send(request)
            #expect(try await held[0].answer()["connection"] == nil)
            try await held[0].send(request)
            #expect(try await held[0].answer()["connection"] == "close")
            #expect(try await held[0].untilClosed() == "")
            try await eventually("there is room again") {
                let next = try await gateway.connect()
                defer { Task { await next.close() } }
                try await next.send(request)
                return try await next.answer().status == 200
            }
        }
    }

    @Test("A body that comes in drops is refused though something comes all the time")
    func drops() async throws {
        let options = GatewayHarness.Options {
            // Within which the service has to be reached, too.
            $0.teamTimeout = .seconds(3)
            $0.settings.minimumBodyRate = 1_000_000
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await gateway.connect()
            try await client.send("POST /open HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n")
            let drops = Task {
                while true {
                    try await client.send("x")
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            let answer = try await client.answer()
            drops.cancel()
            #expect(answer.status == 400)
        }
    }

    @Test("Too much at once is refused quickly")
    func overload() async throws {
        let options = GatewayHarness.Options {
            $0.settings.maximumRequestsInFlight = 2
            $0.teamTimeout = .seconds(60)
            $0.teamBehaviour = { _ in [.pause] }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            var clients: [RawClient] = []
            for _ in 0..<6 {
                let client = try await gateway.connect()
                try await client.send(GatewayHarness.request("GET /open"))
                clients.append(client)
            }
            await withTaskGroup(of: RawClient.Answer?.self) { answers in
                // Those that were admitted get none.
                for client in clients { answers.addTask { try? await client.answer() } }
                for _ in 0..<4 {
                    let answer = await answers.next() ?? nil
                    #expect(answer?.status == 503 && answer?["retry-after"] == "1")
                }
                let health = try? await gateway.send("GET /livez").status
                #expect(health == 200, "much to do is no illness")
                answers.cancelAll()
            }
            for client in clients { await client.close() }
        }
    }

    @Test("Passwords have few permits, and nothing else waits behind them")
    func passwordsInFlight() async throws {
        let options = GatewayHarness.Options {
            $0.settings.maximumPasswordsInFlight = 2
            $0.settings.queueTimeout = .milliseconds(50)
            // The permits stay taken, however busy the machine is.
            $0.serviceTimeout = .seconds(60)
            $0.ownBehaviour = { request in
                let isHeld = request.head.uri == "/v1/auth/login"
                return isHeld ? [.pause] : RecordingUpstream.answer("own")(request)
            }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let clients = try await fill(gateway, 6)
            let login = GatewayHarness.request("POST /v1/auth/login", body: "{}")
            for client in clients { try await client.send(login) }
            try await eventually("they have their permits") { gateway.own.requests.count == 2 }
            // The two with permits get no answer.
            let refused = await withTaskGroup(of: (RawClient, RawClient.Answer)?.self) { answers in
                for client in clients { answers.addTask { (try? await client.answer()).map { (client, $0) } } }
                var refused: [RawClient] = []
                while refused.count < 4, case let (client, answer)?? = await answers.next() {
                    #expect(answer.status == 503 && answer.code == "UNAVAILABLE" && answer["retry-after"] == "1")
                    refused.append(client)
                }
                answers.cancelAll()
                return refused
            }
            #expect(refused.count == 4)
            for path in ["register", "password/reset"] {
                for client in refused {
                    try await client.send(GatewayHarness.request("POST /v1/auth/\(path)", body: "{}"))
                    #expect(try await client.answer().status == 503, "\(path)")
                }
            }
            for path in ["refresh", "apple", "password/forgot"] {
                for client in refused {
                    try await client.send(GatewayHarness.request("POST /v1/auth/\(path)", body: "{}"))
                    #expect(try await client.answer().status == 200, "\(path)")
                }
            }
            for client in clients { await client.close() }
            try await eventually("all permits are free") { gateway.own.open == 0 }
            let before = gateway.own.requests.count
            let next = try await gateway.connect()
            try await next.send(login)
            try await eventually("it is forwarded again") { gateway.own.requests.count == before + 1 }
            await next.close()
        }
    }

    @Test("Passwords wait for a permit in order of arrival, on whichever event loops, and have it when it is free")
    func passwordWaits() async throws {
        let options = GatewayHarness.Options {
            $0.settings.maximumPasswordsInFlight = 1
            // Far longer than the test: a permit that is free wakes the request.
            $0.settings.queueTimeout = .seconds(3600)
            $0.serviceTimeout = .seconds(3600)
            $0.ownBehaviour = { _ in [.pause] }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let clients = try await fill(gateway, 6)
            for (number, client) in clients.enumerated() {
                let login = GatewayHarness.request("POST /v1/auth/login", fields: "Client: \(number)\r\n", body: "{}")
                try await client.send(login)
                try await eventually("it has a permit, or waits") {
                    gateway.own.requests.count == 1 && gateway.gateway.passwords.waiting == number
                }
            }
            // One that gives up loses its turn, and delays no other.
            await clients[2].close()
            try await eventually("it waits no more") { gateway.gateway.passwords.waiting == 4 }
            for (turn, number) in [0, 1, 3, 4, 5].enumerated() {
                try await eventually("its turn has come") { gateway.own.requests.count == turn + 1 }
                #expect(gateway.own.requests.last?.field("Client") == "\(number)")
                await clients[number].close()
            }
            try await eventually("all have gone") { gateway.own.open == 0 }
            let next = try await gateway.connect()
            try await next.send(GatewayHarness.request("POST /v1/auth/login", body: "{}"))
            try await eventually("the permit is free") { gateway.own.requests.count == 6 }
            await next.close()
        }
    }

    @Test("A body that does not come holds no permit for passwords")
    func slowPasswords() async throws {
        let options = GatewayHarness.Options {
            $0.settings.maximumPasswordsInFlight = 1
            $0.settings.queueTimeout = .milliseconds(50)
            $0.serviceTimeout = .seconds(600)
        }
        try await GatewayHarness.withGateway(options) { gateway in
            var slow: [RawClient] = []
            for _ in 0..<3 {
                let client = try await gateway.connect()
                let fields = "Expect: 100-continue\r\nContent-Length: 4\r\n"
                try await client.send(GatewayHarness.request("POST /v1/auth/login", fields: fields))
                #expect(try await client.answer().status == 100)
                try await client.send("{")
                slow.append(client)
            }
            #expect(try await gateway.send("POST /v1/auth/login", body: "{}").status == 200)
            for client in slow {
                try await client.send("  }")
                #expect(try await client.answer().status == 200)
                await client.close()
            }
        }
    }

    @Test("Where a password is optional, a request that has one needs a permit, and no other does")
    func optionalPasswords() async throws {
        let options = GatewayHarness.Options {
            $0.settings.maximumPasswordsInFlight = 1
            $0.settings.queueTimeout = .milliseconds(50)
            $0.serviceTimeout = .seconds(600)
            $0.ownBehaviour = { request in
                request.text == "{}" ? [.pause] : RecordingUpstream.answer("own")(request)
            }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let token = try GatewayHarness.token(GatewayHarness.claims(role: "operator"))
            let paths = ["auth/reauthenticate", "auth/merge", "admin/users"]
            func status(_ path: String, _ body: String) async throws -> Int {
                try await gateway.send("POST /v1/\(path)", body: body, token: token).status
            }
            for path in paths { #expect(try await status(path, #"{"password":"x"}"#) == 200, "\(path)") }
            let held = try await gateway.connect()
            try await held.send(GatewayHarness.request("POST /v1/auth/login", body: "{}"))
            try await eventually("the permit is taken") { gateway.own.requests.count == paths.count + 1 }
            for path in paths {
                #expect(try await status(path, #"{"password":"x"}"#) == 503, "\(path)")
                #expect(try await status(path, #"{"identityToken":"password"}"#) == 200, "\(path)")
            }
            #expect(gateway.own.requests.count == 2 * paths.count + 1)
            await held.close()
            try await eventually("the permit is free") { gateway.own.open == 0 }
            #expect(try await status("auth/merge", #"{"password":"x"}"#) == 200)
        }
    }

    @Test("A client that does not read has no more requests looked at, and holds up no other client")
    func unread() async throws {
        let total = 4000
        let options = GatewayHarness.Options {
            $0.teamBehaviour = RecordingUpstream.answer(String(repeating: "x", count: 16 << 10))
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await RawClient.connect(port: gateway.port, reads: false)
            let requests = String(repeating: GatewayHarness.request("GET /open"), count: total)
            let sending = Task { try? await client.send(requests) }
            let served = try await whenStill("its requests wait") { gateway.team.requests.count }
            #expect(served < total)
            #expect(try await gateway.send("GET /open").status == 200)
            await client.close()
            await sending.value
        }
    }

    @Test("One address has no more than its part of the permits of requests in flight")
    func permitsOfAnAddress() async throws {
        let options = GatewayHarness.Options {
            $0.teamBehaviour = { _ in [.pause] }
            $0.settings.trustedProxies = TrustedProxies(["127.0.0.1"])!
            $0.settings.maximumRequestsInFlightPerAddress = 2
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let clients = try await fill(gateway, 6)
            @Sendable func request(from address: String) -> String {
                GatewayHarness.request("GET /open", fields: "X-Forwarded-For: \(address)\r\n")
            }
            for client in clients { try await client.send(request(from: "203.0.113.1")) }
            try await eventually("it has its permits") { gateway.team.requests.count == 2 }
            // The two with a permit get no answer.
            let answered = await withTaskGroup(of: (client: RawClient, answer: RawClient.Answer)?.self) { group in
                for client in clients { group.addTask { (try? await client.answer()).map { (client, $0) } } }
                var answered: [(client: RawClient, answer: RawClient.Answer)] = []
                while answered.count < 4, let next = await group.next() {
                    if let next { answered.append(next) }
                }
                group.cancelAll()
                return answered
            }
            for (_, answer) in answered {
                #expect(answer.status == 503 && answer.code == "UNAVAILABLE" && answer["retry-after"] != nil)
            }
            let refused = answered.map(\.client)
            #expect(refused.count == 4)
            for client in refused { try await client.send(request(from: "203.0.113.2")) }
            try await eventually("another address has its own") { gateway.team.requests.count == 4 }
            for client in clients { await client.close() }
            try await eventually("all permits are free") { gateway.team.open == 0 }
            let next = try await gateway.connect()
            try await next.send(request(from: "203.0.113.1"))
            try await eventually("it is served again") { gateway.team.requests.count == 5 }
            await next.close()
        }
    }
}
