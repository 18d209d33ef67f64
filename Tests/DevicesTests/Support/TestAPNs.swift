import Crypto
import Foundation
import GatehouseInstruments
import GatehouseServiceContracts
import Logging
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization
import TestKit

@testable import DevicesService

/// A server of HTTP/2 that receives pushes and does to each connection what a test says.
final class TestAPNs: Sendable {
    struct Request: Sendable {
        /// From 0, in the order of their acceptance.
        let connection: Int
        let stream: Int
        let fields: [(name: String, value: String, indexing: HPACKIndexing)]
        let body: String

        func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
        func indexing(_ name: String) -> HPACKIndexing? { fields.first { $0.name == name }?.indexing }
        /// The hexadecimal device token.
        var token: String { field(":path").map { String($0.dropFirst("/3/device/".count)) } ?? "" }
    }

    enum Reply: Sendable {
        case status(Int, reason: String? = nil, timestamp: Int? = nil, retryAfter: String? = nil)
        /// The answer to a request about channels.
        case channels(Int, channelID: String? = nil, body: String? = nil)
        case reset(HTTP2ErrorCode)
        case goAway(last: Int, json: String? = nil)
        /// Closes the connection.
        case close
        /// Sends FIN, and reads on.
        case halfClose
        /// HEADERS without END_HEADERS.
        case unendedHeaders
        /// A header section of more than 16 KiB.
        case hugeHeaders
        /// 103 before the answer.
        case interim
        /// The response's head, and one byte of its body.
        case beginning
        /// More body than the client takes.
        case hugeBody
        case maximumStreams(Int)
        case grow(window: Int)
        /// Reads no more bytes from the socket.
        case stopReading
    }

    typealias Script = @Sendable (Request) -> [Reply]

    struct Options: Sendable {
        var settings: HTTP2Settings = [HTTP2Setting(parameter: .maxConcurrentStreams, value: 100)]
        /// Replies when the head of a request has come.
        var repliesAtHead = false
        var tls: NIOSSLContext?
        var sendsSettings = true
        /// Bytes of a socket's receive buffer.
        var receiveBuffer: Int?
    }

    private struct State {
        var requests: [Request] = []
        var peers: [NIOLoopBound<Peer>] = []
        var pings = 0
        var resets: [Int] = []
        var clientSettings: HTTP2Settings = []
        var mostStreams = 0
    }

    private let state = Mutex(State())
    private let script: Script
    let options: Options

    private init(options: Options, script: @escaping Script) {
        self.options = options
        self.script = script
    }

    var requests: [Request] { state.withLock { $0.requests } }
    var connections: Int { state.withLock { $0.peers.count } }
    /// PING frames that came.
    var pings: Int { state.withLock { $0.pings } }
    /// Streams that clients have reset.
    var resets: [Int] { state.withLock { $0.resets } }
    var clientSettings: HTTP2Settings { state.withLock { $0.clientSettings } }
    /// The most streams that a connection had open at once.
    var mostStreams: Int { state.withLock { $0.mostStreams } }

    func perform(_ reply: Reply, stream: Int = 0, connection: Int = 0) {
        let peer = state.withLock { $0.peers[connection] }
        peer.eventLoop.execute { peer.value.perform([reply], stream: stream) }
    }

    /// Runs `body` with a server on a free port of this machine.
    static func run(
        _ options: Options = Options(), script: @escaping Script,
        _ body: (TestAPNs, _ port: Int) async throws -> Void
    ) async throws {
        let apns = TestAPNs(options: options, script: script)
        let accept: @Sendable (any Channel) throws -> Void = { channel in
            let pipeline = channel.pipeline.syncOperations
            if let tls = options.tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
            guard options.sendsSettings else { return }
            var configuration = NIOHTTP2Handler.ConnectionConfiguration()
            configuration.initialSettings = options.settings
            configuration.maximumRecentlyResetStreams = 1000
            try pipeline.addHandler(
                NIOHTTP2Handler(mode: .server, connectionConfiguration: configuration, streamConfiguration: .init()))
            let number = apns.connections
            let peer = Peer(apns, number)
            try pipeline.addHandler(peer)
            let bound = NIOLoopBound(peer, eventLoop: channel.eventLoop)
            apns.state.withLock { $0.peers.append(bound) }
        }
        // One event loop numbers the connections in the order of their acceptance.
        let group = MultiThreadedEventLoopGroup.singleton
        var bootstrap = ServerBootstrap(group: group, childGroup: group.next())
        if let size = options.receiveBuffer {
            bootstrap = bootstrap.serverChannelOption(.socketOption(.so_rcvbuf), value: .init(size))
        }
        let server =
            try await bootstrap
            .childChannelInitializer { channel in channel.eventLoop.makeCompletedFuture { try accept(channel) } }
            .bind(host: "127.0.0.1", port: 0).get()
        try await runFinally {
            try await body(apns, server.localAddress?.port ?? 0)
        } finally: {
            try await server.close()
        }
    }

    /// One connection.
    private final class Peer: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame
        typealias OutboundOut = HTTP2Frame

        private let apns: TestAPNs
        private let number: Int
        private var context: ChannelHandlerContext?
        private var heads: [Int: HPACKHeaders] = [:]
        private var bodies: [Int: String] = [:]

        init(_ apns: TestAPNs, _ number: Int) {
            self.apns = apns
            self.number = number
        }

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }
        func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let frame = unwrapInboundIn(data)
            let stream = Int(frame.streamID)
            switch frame.payload {
            case .headers(let head):
                heads[stream] = head.headers
                let count = heads.count
                apns.state.withLock { $0.mostStreams = max($0.mostStreams, count) }
                if apns.options.repliesAtHead || head.endStream { receive(stream) }
            case .data(let part):
                if case .byteBuffer(let bytes) = part.data { bodies[stream, default: ""] += String(buffer: bytes) }
                if part.endStream, !apns.options.repliesAtHead { receive(stream) }
            case .rstStream:
                heads[stream] = nil
                apns.state.withLock { $0.resets.append(stream) }
            case .ping(_, ack: false): apns.state.withLock { $0.pings += 1 }
            case .settings(.settings(let settings)): apns.state.withLock { $0.clientSettings = settings }
            default: break
            }
        }

        private func receive(_ stream: Int) {
            let request = Request(
                connection: number, stream: stream,
                fields: heads[stream].map { $0.map { ($0.name, $0.value, $0.indexable) } } ?? [],
                body: bodies[stream] ?? "")
            apns.state.withLock { $0.requests.append(request) }
            perform(apns.script(request), stream: stream)
        }

        func perform(_ replies: [Reply], stream: Int) {
            for reply in replies { perform(reply, stream: stream) }
            context?.flush()
        }

        private func perform(_ reply: Reply, stream: Int) {
            switch reply {
            case .status(let status, let reason, let timestamp, let retryAfter):
                answer(stream, status, reason, timestamp, retryAfter)
            case .channels(let status, let channelID, let body):
                heads[stream] = nil
                var fields = HPACKHeaders([(":status", "\(status)")])
                if let channelID { fields.add(name: "apns-channel-id", value: channelID) }
                write(stream, .headers(.init(headers: fields, endStream: body == nil)))
                guard let body else { return }
                write(stream, .data(.init(data: .byteBuffer(ByteBuffer(string: body)), endStream: true)))
            case .reset(let code):
                heads[stream] = nil
                write(stream, .rstStream(code))
            case .goAway(let last, let json):
                write(
                    0,
                    .goAway(
                        lastStreamID: HTTP2StreamID(last), errorCode: .noError,
                        opaqueData: json.map { ByteBuffer(string: $0) }))
            case .close: context?.close(promise: nil)
            case .halfClose: context?.channel.close(mode: .output, promise: nil)
            case .unendedHeaders: writeRaw([0, 0, 1, 1, 0, 0, 0, 0, UInt8(stream), 0x88])
            case .hugeHeaders:
                let fields = HPACKHeaders([(":status", "200"), ("x-huge", String(repeating: "0", count: 17_000))])
                write(stream, .headers(.init(headers: fields)))
            case .interim: write(stream, .headers(.init(headers: [":status": "103"])))
            case .beginning:
                write(stream, .headers(.init(headers: [":status": "400"])))
                write(stream, .data(.init(data: .byteBuffer(ByteBuffer(string: "{")))))
            case .hugeBody:
                write(stream, .headers(.init(headers: [":status": "400"])))
                let part = ByteBuffer(repeating: UInt8(ascii: " "), count: 16_000)
                for _ in 0..<4 { write(stream, .data(.init(data: .byteBuffer(part)))) }
            case .maximumStreams(let count):
                write(0, .settings(.settings([HTTP2Setting(parameter: .maxConcurrentStreams, value: count)])))
            case .stopReading: context?.channel.setOption(.autoRead, value: false).whenFailure { _ in }
            case .grow(let window): write(stream, .windowUpdate(windowSizeIncrement: window))
            }
        }

        private func answer(_ stream: Int, _ status: Int, _ reason: String?, _ timestamp: Int?, _ retryAfter: String?) {
            heads[stream] = nil
            var fields = HPACKHeaders([(":status", "\(status)"), ("apns-id", UUID().uuidString)])
            if let retryAfter { fields.add(name: "retry-after", value: retryAfter) }
            write(stream, .headers(.init(headers: fields, endStream: reason == nil)))
            guard let reason else { return }
            let time = timestamp.map { #","timestamp":\#($0)"# } ?? ""
            let body = ByteBuffer(string: #"{"reason":"\#(reason)"\#(time)}"#)
            write(stream, .data(.init(data: .byteBuffer(body), endStream: true)))
        }

        private func write(_ stream: Int, _ payload: HTTP2Frame.FramePayload) {
            context?.write(
                wrapOutboundOut(HTTP2Frame(streamID: HTTP2StreamID(stream), payload: payload)), promise: nil)
        }

        /// Bytes that the codec would not write.
        private func writeRaw(_ bytes: [UInt8]) {
            let codec = try? context?.pipeline.syncOperations.context(handlerType: NIOHTTP2Handler.self)
            codec?.writeAndFlush(NIOAny(IOData.byteBuffer(ByteBuffer(bytes: bytes))), promise: nil)
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard let window = event as? NIOHTTP2WindowUpdatedEvent, window.streamID == .rootStream,
                let size = window.inboundWindowSize, size < 30_000
            else { return }
            write(0, .windowUpdate(windowSizeIncrement: 65_535 - size))
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {}
    }
}

extension TestAPNs {
    static let team = "TEAM012345"
    static let keyID = "KEY0123456"

    static func key(
        _ keyID: String = keyID, topics: [String]? = nil,
        environments: Set<PushEnvironment> = [.production, .sandbox]
    ) throws -> APNsKey {
        try APNsKey(
            team: team, keyID: keyID, pem: P256.Signing.PrivateKey().pemRepresentation, topics: topics,
            environments: environments)
    }

    /// The server at `url`, for both environments.
    static func endpoints(_ url: String, trustRootsFile: String? = nil) throws -> APNsEndpoints {
        let server = try APNsEndpoints.Server(url)
        return APNsEndpoints(
            production: server, sandbox: server, productionChannels: server, sandboxChannels: server,
            trustRootsFile: trustRootsFile)
    }

    /// Limits with which faults show soon. Nothing is decided by them unless a test sets them.
    static var limits: APNsLimits {
        var limits = APNsLimits()
        limits.sendTimeout = .seconds(30)
        limits.connectTimeout = .seconds(30)
        limits.bodyTime = .seconds(30)
        limits.stallTime = .seconds(30)
        limits.hangTime = .seconds(30)
        limits.backoff.first = .milliseconds(1)
        limits.backoff.longest = .milliseconds(1)
        return limits
    }

    /// Accepts every push.
    static let accept: Script = { _ in [.status(200)] }

    /// The outcomes of pushes that are sent at once, in the order of their numbers.
    static func send(_ count: Int, isProven: Bool = true, to pools: APNsConnectionPools) async -> [SendOutcome] {
        await withTaskGroup(of: (Int, SendOutcome).self) { group in
            for number in 0..<count {
                group.addTask { (number, await pools.send(.numbered(number, isProven: isProven))) }
            }
            var outcomes = [SendOutcome](repeating: .inDoubt, count: count)
            for await (number, outcome) in group { outcomes[number] = outcome }
            return outcomes
        }
    }

    /// Runs `body` with pools that send to a server.
    static func withConnectionPools(
        _ options: Options = Options(), limits: APNsLimits = limits, keys: [APNsKey]? = nil,
        logger: Logger = .quiet, metrics: (any MetricsFactory)? = nil, clock: MovableDate = MovableDate(),
        script: @escaping Script, _ body: (APNsConnectionPools, TestAPNs) async throws -> Void
    ) async throws {
        try await run(options, script: script) { apns, port in
            let url = "http\(options.tls == nil ? "" : "s")://127.0.0.1:\(port)"
            let pools = try APNsConnectionPools(
                keys: keys ?? [key()], endpoints: TestAPNs.endpoints(url), limits: limits,
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger, metrics: metrics,
                clock: { clock.now })
            try await runFinally {
                try await body(pools, apns)
            } finally: {
                await pools.close()
            }
        }
    }
}

/// The time of a test, which moves when the test says so.
final class MovableDate: Sendable {
    private let date = Mutex(Date(timeIntervalSince1970: 1_790_000_000))

    var now: Date { date.withLock { $0 } }

    func advance(minutes: Double) { date.withLock { $0 += minutes * 60 } }
}

extension RenderedPush {
    static func test(
        token: [UInt8] = [0xAB, 0xCD], topic: String = "com.example.app", type: PushType = .alert,
        environment: PushEnvironment = .production, collapseID: String? = nil, isProven: Bool = true,
        isUrgent: Bool = false, payload: String = #"{"aps":{}}"#,
        sendBefore: ContinuousClock.Instant = .now + .seconds(60)
    ) -> RenderedPush {
        RenderedPush(
            id: UUID(), destination: .device(PushToken(bytes: token)), environment: environment, topic: topic,
            type: type, priority: .immediate, collapseID: collapseID,
            expiresAt: Date(timeIntervalSince1970: 1_800_000_000),
            payload: Array(payload.utf8), isProven: isProven, isUrgent: isUrgent,
            sendBefore: sendBefore)
    }

    /// A push whose device token has a number.
    static func numbered(_ number: Int, isProven: Bool = true, isUrgent: Bool = false) -> RenderedPush {
        test(token: [UInt8(number >> 8), UInt8(number & 0xFF)], isProven: isProven, isUrgent: isUrgent)
    }
}

extension SendOutcome {
    static let accepted = answered(APNsAnswer(status: 200))
}
