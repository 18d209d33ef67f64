import GatehouseServiceContracts
import NIOCore
import NIOHTTP1
import NIOHTTP2
import Synchronization
import TestKit
import Testing

@testable import GatewayService

/// The body of a request is buffered before a connection to an upstream is taken.
@Suite("Buffering of request bodies")
struct RequestBufferingTests {
    /// With so much time that no test sees its end, and so little memory that each byte is counted at once.
    private func patient(_ change: (inout GatewayHarness.Options) -> Void = { _ in }) -> GatewayHarness.Options {
        GatewayHarness.Options {
            $0.settings.bufferingTime = .seconds(600)
            $0.settings.connectTimeout = .seconds(600)
            $0.settings.maximumWaitingInput = 255
            change(&$0)
        }
    }

    /// A client whose request is admitted and whose body is awaited.
    private func post(_ path: String, _ length: Int, to gateway: GatewayHarness) async throws -> RawClient {
        let client = try await gateway.connect()
        let fields = "Expect: 100-continue\r\nContent-Length: \(length)\r\n"
        try await client.send(GatewayHarness.request("POST \(path)", fields: fields))
        #expect(try await client.answer().status == 100)
        return client
    }

    /// What the clients' sockets have taken.
    private final class Sent: Sendable { let bytes = Mutex(0) }

    private func waiting(_ gateway: GatewayHarness) -> Int { gateway.gateway.requestBodies.bytes }

    @Test("A head and half a body take no connection to the upstream, and the whole goes there at once")
    func half() async throws {
        try await GatewayHarness.withGateway(patient()) { gateway in
            let clients = [try await post("/open", 10, to: gateway), try await post("/open", 10, to: gateway)]
            for client in clients { try await client.send("hello") }
            try await eventually("both halves wait") { waiting(gateway) == 10 }
            #expect(gateway.team.connections == 0)
            for client in clients {
                try await client.send("world")
                #expect(try await client.answer().status == 200)
            }
            #expect(gateway.team.requests.map(\.text) == ["helloworld", "helloworld"])
            #expect(gateway.team.requests.allSatisfy { $0.pieces == 1 })
            for client in clients { await client.close() }
            try await eventually("nothing waits") { waiting(gateway) == 0 }
        }
    }

    @Test("Chunks and their trailers wait for the last one")
    func chunks() async throws {
        try await GatewayHarness.withGateway(patient()) { gateway in
            let client = try await gateway.connect()
            try await client.send(GatewayHarness.request("POST /open", fields: "Transfer-Encoding: chunked\r\n"))
            try await client.send("2\r\nab\r\n")
            try await eventually("the first chunk waits") { waiting(gateway) == 2 }
            #expect(gateway.team.connections == 0)
            try await client.send("1\r\nc\r\n0\r\nX-Sum: 1\r\n\r\n")
            #expect(try await client.answer().status == 200)
            let request = try #require(gateway.team.requests.first)
            #expect(request.text == "abc" && request.trailers?.first(name: "X-Sum") == "1")
            await client.close()
        }
    }

    @Test("Chunks of eight bytes may be as many as they like; too many shorter ones end the connection")
    func smallChunks() async throws {
        try await GatewayHarness.withGateway { gateway in
            func request(chunks: Int, of size: Int) -> String {
                let chunk = "\(size)\r\n\(String(repeating: "x", count: size))\r\n"
                return GatewayHarness.request("POST /open", fields: "Transfer-Encoding: chunked\r\n")
                    + String(repeating: chunk, count: chunks) + "0\r\n\r\n"
            }
            let client = try await gateway.connect()
            for _ in 0..<5 {
                try await client.send(request(chunks: 2000, of: 8))
                #expect(try await client.answer().status == 200)
            }
            // What the clock earns meanwhile is far less than so many cost.
            var (statuses, count) = ([Int](), 0)
            while statuses.last ?? 200 == 200, count < 100 {
                try await client.send(request(chunks: 1000, of: 1))
                statuses.append(try await client.answer().status)
                count += 1
            }
            #expect(statuses.first == 200 && statuses.last == 400)
            await client.close()
            #expect(try await gateway.send("POST /open", body: "x").status == 200)
        }
    }

    @Test("64 KiB of a longer body are enough, and so is the time for them")
    func enough() async throws {
        try await GatewayHarness.withGateway(patient { $0.settings.maximumWaitingInput = 64 << 20 }) { gateway in
            let client = try await post("/open", 100_000, to: gateway)
            try await client.send(String(repeating: "x", count: 64 << 10))
            try await eventually("the upstream has the head") { gateway.team.begun == 1 }
            try await client.send(String(repeating: "x", count: 100_000 - 64 << 10))
            #expect(try await client.answer().status == 200)
            await client.close()
        }
        let hasty = GatewayHarness.Options { $0.settings.bufferingTime = .milliseconds(1) }
        try await GatewayHarness.withGateway(hasty) { gateway in
            let client = try await post("/open", 10, to: gateway)
            try await client.send("hello")
            try await eventually("the upstream has the head") { gateway.team.begun == 1 }
            try await client.send("world")
            #expect(try await client.answer().status == 200)
            #expect(gateway.team.requests.first?.text == "helloworld")
            await client.close()
        }
    }

    @Test("A route may have its bodies forwarded as they come")
    func optOut() async throws {
        let options = patient {
            $0.routes = { team in
                [
                    Route(
                        name: "/upload", pattern: PathPattern("/upload", isPrefix: true)!, methods: .all,
                        authentication: .none, target: .upstream(team), bodyLimit: 1000, buffersBodies: false,
                        timeout: .seconds(30))
                ]
            }
        }
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await post("/upload", 5, to: gateway)
            try await eventually("the upstream has the head") { gateway.team.begun == 1 }
            try await client.send("hello")
            #expect(try await client.answer().status == 200)
            await client.close()
        }
    }

    @Test("A client that goes, or sends too much, leaves nothing behind, and no upstream has heard of it")
    func ends() async throws {
        try await GatewayHarness.withGateway(patient()) { gateway in
            let client = try await post("/open", 10, to: gateway)
            try await client.send("hello")
            try await eventually("the half waits") { waiting(gateway) == 5 }
            await client.close()
            try await eventually("nothing waits") { waiting(gateway) == 0 }
            let other = try await gateway.connect()
            let chunk = "1f4\r\n\(String(repeating: "x", count: 500))\r\n"
            try await other.send(GatewayHarness.request("POST /small", fields: "Transfer-Encoding: chunked\r\n"))
            for _ in 0..<3 { try await other.send(chunk) }
            #expect(try await other.answer().status == 413)
            await other.close()
            try await eventually("nothing waits") { waiting(gateway) == 0 }
            #expect(gateway.team.connections == 0)
        }
    }

    @Test("With an address that refuses connections the buffered body goes to another")
    func retry() async throws {
        let refusing = try freePort()
        let upstream = RecordingUpstream(RecordingUpstream.answer("done"))
        let answering = try await upstream.start()
        try await GatewayHarness.withGateway(patient { $0.teamPorts = [refusing, answering] }) { gateway in
            // Of two addresses the one is asked first as often as the other.
            for _ in 0..<20 {
                let answer = try await gateway.send("POST /open", body: "hello")
                #expect(answer.status == 200 && answer.body == "done")
            }
        }
        await upstream.stop()
    }

    @Test("What waits in streams of HTTP/2 counts, and streams are reset when the memory is used up")
    func streams() async throws {
        let (limit, count, size) = (64 << 10, 30, 60_000)
        let deaf = try await DeafUpstream.start()
        let options = patient {
            $0.teamPorts = [deaf.port]
            $0.settings.maximumWaitingInput = limit
            $0.teamTimeout = .seconds(600)
            $0.serviceTimeout = .seconds(600)
        }
        try await GatewayHarness.withTLSGateway(options) { gateway, tls in
            var client = try await RawHTTP2Client(port: gateway.port, tls: tls)
            let data = [UInt8](repeating: 0x78, count: 15_000)
            for stream in (0..<count).map({ UInt32(2 * $0 + 1) }) {
                try await client.send(.request(stream, "POST", "/open", ends: false))
                for _ in 0..<(size / data.count) { try await client.send(.data(stream, data)) }
            }
            // No window of the gateway's has kept the client from sending all of it.
            while !client.answers.values.contains(where: { $0.reset == .enhanceYourCalm }) {
                _ = try await client.next()
            }
            // A small request is served meanwhile.
            let last = UInt32(2 * count + 1)
            try await client.send(.request(last, "POST", "/v1/auth/refresh", ends: false), .data(last, "x", ends: true))
            #expect(try await client.answer(last).status == 200)
            #expect(waiting(gateway) > limit / 2)
            let most = limit + 2 * count * HTTP2WaitingData.most + BufferBudget.most
            #expect(waiting(gateway) <= most)
            await client.close()
            try await eventually("nothing waits") { abs(waiting(gateway)) <= limit / 64 }
        }
        await deaf.stop()
    }

    @Test("The rest of a frame whose stream was reset does not count")
    func restOfFrame() async throws {
        try await GatewayHarness.withTLSGateway(patient()) { gateway, tls in
            var client = try await RawHTTP2Client(port: gateway.port, tls: tls)
            let frame = RawHTTP2Frame.data(1, [UInt8](repeating: 0x78, count: 15_000)).bytes
            // The first bytes are more than the head declares.
            let length = [("content-length", Array("5".utf8))]
            try await client.send(.request(1, "POST", "/open", length, ends: false))
            try await client.send(bytes: frame.prefix(9_000))
            #expect(try await client.answer(1).reset == .protocolError)
            try await client.send(bytes: frame.dropFirst(9_000))
            // The gateway has read the rest once it answers what follows.
            try await client.send(.request(3, "GET", "/open", ends: true))
            let status = try await client.answer(3).status
            #expect(status == 200)
            try await eventually("nothing waits") { waiting(gateway) == 0 }
            await client.close()
        }
    }

    @Test("What waits behind a request that waits counts too")
    func behind() async throws {
        let options = patient { $0.teamBehaviour = { _ in [.pause] } }
        try await GatewayHarness.withGateway(options) { gateway in
            let client = try await gateway.connect()
            try await client.send(GatewayHarness.request("GET /open") + GatewayHarness.request("GET /open"))
            try await eventually("the second waits") {
                waiting(gateway) == GatewayHarness.request("GET /open").utf8.count
            }
            await client.close()
            try await eventually("nothing waits") { waiting(gateway) == 0 }
        }
    }

    @Test("Where memory is short a body waits in its client, and all together have little more than the budget")
    func budget() async throws {
        let (limit, count, size) = (64 << 10, 12, 64 << 20)
        let accepted = Mutex<[any Channel]>([])
        try await withTCPServer(
            onAccept: { channel in
                // A service that reads nothing.
                try channel.syncOptions?.setOption(.autoRead, value: false)
                accepted.withLock { $0.append(channel) }
            }
        ) { port in
            let options = GatewayHarness.Options {
                $0.teamPorts = [port]
                $0.settings.maximumWaitingInput = limit
                $0.routes = { team in
                    [
                        Route(
                            name: "/large", pattern: PathPattern("/large", isPrefix: true)!, methods: .all,
                            authentication: .none, target: .upstream(team), bodyLimit: size, timeout: .seconds(600))
                    ]
                }
            }
            try await GatewayHarness.withGateway(options) { gateway in
                let piece = [UInt8](repeating: 0x78, count: 64 << 10)
                var clients: [RawClient] = []
                for _ in 0..<count { clients.append(try await gateway.connect()) }
                let sent = Sent()
                let sending = clients.map { client in
                    Task {
                        let head = GatewayHarness.request("PUT /large", fields: "Content-Length: \(size)\r\n")
                        try? await client.send(head)
                        for _ in 0..<(size / piece.count) {
                            guard (try? await client.send(piece)) != nil else { return }
                            sent.bytes.withLock { $0 += piece.count }
                        }
                    }
                }
                // The system's buffers grow first.
                try await eventually("memory is short") { waiting(gateway) > limit / 2 }
                _ = try await whenStill("the clients wait") { sent.bytes.withLock { $0 } }
                // Each has what it was allowed when there was room, and one read beyond.
                #expect(waiting(gateway) <= limit + count * 4 * BufferBudget.least + 2 * BufferBudget.most)
                for channel in accepted.withLock(\.self) { channel.close(promise: nil) }
                for client in clients { await client.close() }
                for task in sending { await task.value }
                // What an event loop keeps to itself is little.
                try await eventually("nothing waits") { abs(waiting(gateway)) <= limit / 64 }
            }
        }
    }
}
