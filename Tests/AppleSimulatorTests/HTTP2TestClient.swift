import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import Synchronization
import TestKit

/// A client of HTTP/2 in clear text that shows every frame it receives.
final class HTTP2TestClient: Sendable {
    enum Event: Equatable, Sendable {
        case headers(stream: Int, status: String, fields: [String: String], isEnd: Bool)
        case data(stream: Int, String, isEnd: Bool)
        case reset(stream: Int, code: Int)
        case goAway(lastStream: Int, code: Int, String)
        /// By the number of the parameter (RFC 9113 §6.5.2).
        case settings([Int: Int])
        case error(String)
        /// The server has sent FIN, and this client may still write.
        case inputClosed
        case closed
    }

    struct Response: Sendable, Equatable {
        var status: String
        var headers: [String: String]
        var body: String
    }

    private final class Events: Sendable {
        let storage = Mutex<[Event]>([])

        func add(_ event: Event) { storage.withLock { $0.append(event) } }
    }

    private let channel: any Channel
    private let received: Events
    private let nextStream = Mutex(1)

    private init(_ channel: any Channel, _ received: Events) {
        (self.channel, self.received) = (channel, received)
    }

    static func connect(port: Int) async throws -> HTTP2TestClient {
        let received = Events()
        // The server speaks first: the pipeline must stand before its bytes come.
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOHTTP2Handler(mode: .client, initialSettings: []), Collector(received))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return HTTP2TestClient(channel, received)
    }

    var events: [Event] { received.storage.withLock { $0 } }

    /// The streams whose response has begun, in the order of the responses.
    var answered: [Int] {
        events.compactMap { if case .headers(let stream, _, _, _) = $0 { stream } else { nil } }
    }

    /// The values of a setting, by the number of the parameter.
    func settings(_ parameter: Int) -> [Int] {
        events.compactMap { if case .settings(let values) = $0 { values[parameter] } else { nil } }
    }

    /// What this side found wrong.
    var errors: [String] {
        events.compactMap { if case .error(let text) = $0 { text } else { nil } }
    }

    /// Sends a request, and returns its stream.
    @discardableResult
    func send(
        _ path: String, method: String = "POST", headers: [String: String], body: String = #"{"aps":{}}"#
    ) -> Int {
        let stream = nextStream.withLock { next in
            defer { next += 2 }
            return next
        }
        let id = HTTP2StreamID(stream)
        var fields = HPACKHeaders([
            (":method", method), (":scheme", "http"), (":path", path), (":authority", "127.0.0.1"),
        ])
        for (name, value) in headers { fields.add(name: name, value: value) }
        channel.write(HTTP2Frame(streamID: id, payload: .headers(.init(headers: fields))), promise: nil)
        channel.writeAndFlush(
            HTTP2Frame(
                streamID: id, payload: .data(.init(data: .byteBuffer(ByteBuffer(string: body)), endStream: true))),
            promise: nil)
        return stream
    }

    func post(
        _ path: String, headers: [String: String], body: String = #"{"aps":{}}"#
    ) async throws -> Response {
        try await response(on: send(path, headers: headers, body: body))
    }

    /// Waits for a whole response.
    func response(on stream: Int) async throws -> Response {
        var response = Response(status: "", headers: [:], body: "")
        try await eventually("stream \(stream) is answered; received \(events)") {
            response = Response(status: "", headers: [:], body: "")
            for event in events {
                switch event {
                case .headers(stream, let status, let fields, let isEnd):
                    (response.status, response.headers) = (status, fields)
                    if isEnd { return true }
                case .data(stream, let text, let isEnd):
                    response.body += text
                    if isEnd { return true }
                default: break
                }
            }
            return false
        }
        return response
    }

    /// Waits for an event.
    func event(_ name: String, where isWanted: (Event) -> Bool) async throws {
        try await eventually("\(name); received \(events)") { events.contains(where: isWanted) }
    }

    func close() async throws {
        guard channel.isActive else { return }
        try await channel.close()
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame

        private let received: Events

        init(_ received: Events) {
            self.received = received
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let frame = unwrapInboundIn(data)
            let stream = Int(frame.streamID)
            switch frame.payload {
            case .headers(let headers):
                var fields: [String: String] = [:]
                for (name, value, _) in headers.headers { fields[name] = value }
                received.add(
                    .headers(
                        stream: stream, status: fields.removeValue(forKey: ":status") ?? "", fields: fields,
                        isEnd: headers.endStream))
            case .data(let data):
                guard case .byteBuffer(let bytes) = data.data else { return }
                received.add(.data(stream: stream, String(buffer: bytes), isEnd: data.endStream))
            case .rstStream(let code): received.add(.reset(stream: stream, code: code.networkCode))
            case .goAway(let last, let code, let reason):
                received.add(
                    .goAway(
                        lastStream: Int(last), code: code.networkCode, reason.map { String(buffer: $0) } ?? ""))
            case .settings(.settings(let settings)):
                received.add(.settings(Dictionary(settings.map(Self.number), uniquingKeysWith: { $1 })))
            default: break
            }
        }

        private static func number(_ setting: HTTP2Setting) -> (Int, Int) {
            let numbers: [HTTP2SettingsParameter: Int] = [
                .headerTableSize: 1, .enablePush: 2, .maxConcurrentStreams: 3, .initialWindowSize: 4,
                .maxFrameSize: 5, .maxHeaderListSize: 6,
            ]
            return (numbers[setting.parameter] ?? 0, setting.value)
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event as? ChannelEvent == .inputClosed { received.add(.inputClosed) }
            context.fireUserInboundEventTriggered(event)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            received.add(.error("\(error)"))
        }

        func channelInactive(context: ChannelHandlerContext) {
            received.add(.closed)
        }
    }
}
