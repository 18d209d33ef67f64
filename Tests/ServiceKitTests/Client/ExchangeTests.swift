import AsyncHTTPClient
import GatehouseLimits
import GatehouseServiceKit
import NIOCore
import NIOHTTP1
import Synchronization
import TestKit
import Testing

/// One deadline over all of an exchange, against servers that keep their clients waiting.
@Suite struct ExchangeTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    /// What a server says, and what it goes on saying for as long as the connection lives.
    enum Server: CaseIterable, CustomTestStringConvertible {
        case silent, stallsInHead, stallsBehindHead, stallsInBody, dripsHead, dripsBody, endlessChunkExtension

        var says: String {
            switch self {
            case .silent: ""
            case .stallsInHead, .dripsHead: "HTTP/1.1 200 OK\r\nX: "
            case .stallsBehindHead: head
            case .stallsInBody: head + "1234"
            case .dripsBody: chunked
            case .endlessChunkExtension: chunked + "1;x="
            }
        }

        /// Said again and again, each time that the last was written.
        var goesOn: (text: String, pause: TimeAmount)? {
            switch self {
            case .dripsHead: ("x", .milliseconds(20))
            case .dripsBody: ("1\r\nx\r\n", .milliseconds(20))
            case .endlessChunkExtension: (String(repeating: "x", count: 1 << 16), .zero)
            default: nil
            }
        }

        var testDescription: String { "\(self)" }
    }

    private final class Counts: Sendable {
        let opened = Mutex(0)
        let closed = Mutex(0)
        let bytes = Mutex(0)
    }

    private func withClient(_ body: (HTTPClient) async throws -> Void) async throws {
        let client = HTTPClient(configuration: .gatehouse())
        do {
            try await body(client)
        } catch {
            try await client.shutdown()
            throw error
        }
        try await client.shutdown()
    }

    private func serving(
        _ server: Server, _ body: (HTTPClientRequest, HTTPClient, Counts) async throws -> Void
    ) async throws {
        let counts = Counts()
        try await withClient { client in
            try await withTCPServer(onAccept: { connection in
                counts.opened.withLock { $0 += 1 }
                connection.closeFuture.whenComplete { _ in counts.closed.withLock { $0 += 1 } }
                try connection.pipeline.syncOperations.addHandler(Speaking(server, counts))
            }) { port in
                try await body(HTTPClientRequest(url: "http://127.0.0.1:\(port)/"), client, counts)
            }
        }
    }

    /// Says it once it is asked: an answer before its request is none, and is refused as such.
    private final class Speaking: ChannelInboundHandler, RemovableChannelHandler, Sendable {
        typealias InboundIn = ByteBuffer

        private let server: Server
        private let counts: Counts

        init(_ server: Server, _ counts: Counts) { (self.server, self.counts) = (server, counts) }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let connection = context.channel
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
            connection.writeAndFlush(ByteBuffer(string: server.says), promise: nil)
            if let (text, pause) = server.goesOn { say(text, every: pause, on: connection) }
        }

        private func say(_ text: String, every pause: TimeAmount, on connection: any Channel) {
            connection.writeAndFlush(ByteBuffer(string: text)).whenSuccess {
                self.counts.bytes.withLock { $0 += text.utf8.count }
                connection.eventLoop.scheduleTask(in: pause) { self.say(text, every: pause, on: connection) }
            }
        }
    }

    @Test(arguments: Server.allCases.filter { $0 != .endlessChunkExtension })
    func endsWithItsDeadlineAndTheConnectionWithIt(_ server: Server) async throws {
        try await serving(server) { request, client, counts in
            await #expect(throws: HTTPClientError.deadlineExceeded) {
                try await client.exchange(request, upTo: 1 << 20, before: .after(.seconds(2)))
            }
            #expect(counts.opened.withLock { $0 } == 1)
            try await eventually("the connection is closed") { counts.closed.withLock { $0 } == 1 }
        }
    }

    @Test(arguments: [Server.silent, .stallsInBody])
    func endsWithItsTask(_ server: Server) async throws {
        try await serving(server) { request, client, counts in
            let exchange = Task {
                try await client.exchange(request, upTo: 1 << 20, before: .after(.seconds(600)))
            }
            try await eventually("the server is asked") { counts.opened.withLock { $0 } == 1 }
            exchange.cancel()
            await #expect(throws: (any Error).self) { try await exchange.value }
            try await eventually("the connection is closed") { counts.closed.withLock { $0 } == 1 }
        }
    }

    /// Long before the deadline. The systems' buffers hold a few megabytes more than the client has read.
    @Test func readsLittleThatIsNoBody() async throws {
        try await serving(.endlessChunkExtension) { request, client, counts in
            await #expect(throws: AnswerOverheadExceeded.self) {
                try await client.exchange(request, upTo: 1 << 20, before: .after(.seconds(600)))
            }
            try await eventually("the connection is closed") { counts.closed.withLock { $0 } == 1 }
            #expect(counts.bytes.withLock { $0 } < 16 << 20)
        }
    }

    @Test func doesNotBeginWhenItsDeadlineHasPassed() async throws {
        try await serving(.silent) { request, client, counts in
            await #expect(throws: HTTPClientError.deadlineExceeded) {
                try await client.exchange(request, upTo: 16, before: .after(.zero))
            }
            #expect(counts.opened.withLock { $0 } == 0)
        }
    }

    @Test(arguments: [
        "HTTP/1.1 201 Created\r\nX-A: b\r\nContent-Length: 5\r\n\r\n12345",
        "HTTP/1.1 201 Created\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\n12\r\n3\r\n345\r\n0\r\n\r\n",
        "HTTP/1.1 201 Created\r\nX-A: b\r\nConnection: close\r\n\r\n12345",
    ])
    func readsAnAnswerUpToItsLimit(_ answer: String) async throws {
        try await withClient { client in
            try await withTCPServer(onAccept: { connection in
                try connection.pipeline.syncOperations.addHandler(Answering(answer: answer))
            }) { port in
                let request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/")
                let whole = try await client.exchange(request, upTo: 5, before: .after(.seconds(60)))
                #expect(whole.status == 201)
                #expect(whole.headers["x-a"] == ["b"])
                #expect(String(buffer: whole.body) == "12345")
                await #expect(throws: NIOTooManyBytesError.self) {
                    try await client.exchange(request, upTo: 4, before: .after(.seconds(60)))
                }
            }
        }
    }

    /// Gives every request, as short as these are, the same answer.
    private final class Answering: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        let answer: String

        init(answer: String) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            if answer.contains("close") { context.close(promise: nil) }
        }
    }
}
