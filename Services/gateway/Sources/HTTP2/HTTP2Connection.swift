import GatehouseServiceContracts
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOTLS

/// A client's connection that speaks HTTP/2: each stream carries one request to a `ClientConnection` of its own.
final class HTTP2Connection: Timed {
    /// Requests that a client may have open at once.
    private static let maximumStreams = 100
    /// Bytes of a response that may wait for the client before no more of it is read.
    private static let waitingOutput = 64 * 1024
    /// Time between two checks of what the client has taken; nanoseconds.
    private static let checkInterval: Int64 = 250_000_000
    /// Malformed streams after which the connection is closed.
    private static let maximumFaults = 50
    /// Refused streams after which the connection is closed: streams beyond the limit, or behind unread responses. A
    /// client that has not read the settings yet may open some.
    private static let maximumRefusals = 1000

    let channel: any Channel
    private let worker: Worker
    private let peer: ClientPeer
    private var faults = 0
    private var refusals = 0
    /// Whether GOAWAY was sent: the client may open no more streams.
    private var isEnding = false
    /// When `timedOut` is to be called; nanoseconds of the worker's clock.
    private(set) var deadline: Int64 {
        didSet { if channel.isActive { worker.note(self) } }
    }
    var timerSlot: TimerSlot?
    private var linger: ConnectionLinger
    /// Whether to close the connection even if bytes wait.
    private var isCut = false

    init(on channel: any Channel, worker: Worker, peer: ClientPeer) {
        self.channel = channel
        self.worker = worker
        self.peer = peer
        let settings = worker.gateway.settings
        linger = ConnectionLinger(minimumRate: MinimumRate(settings), longest: settings.longestLinger.nanoseconds)
        let wait = peer.isOverLimit ? worker.gateway.settings.overLimitTimeout : worker.gateway.settings.idleTimeout
        deadline = worker.now + wait.nanoseconds
    }

    func begin() throws {
        let management = NIOHTTP2ServerConnectionManagementHandler(
            eventLoop: channel.eventLoop,
            configuration: .init(maxIdleTime: nil, maxAge: nil, maxGraceTime: nil, keepalive: nil))
        let worker = worker
        let frames = HTTP2FrameGuard(
            maximumStreams: Self.maximumStreams, waitingData: HTTP2WaitingData(of: worker), now: { worker.now },
            onFault: { [weak self] in self?.malformed() },
            onExcess: { [weak self] in self?.countRefusal("body memory") }, onFlood: { [weak self] in self?.flooded() })
        let own = NIOLoopBound((connection: self, frames: frames), eventLoop: channel.eventLoop)
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandlers(CloseHandler(of: self), frames)
        _ = try pipeline.configureHTTP2Pipeline(
            mode: .server, connectionConfiguration: Self.connectionConfiguration,
            streamConfiguration: Self.streamConfiguration, streamDelegate: management.http2StreamDelegate
        ) { stream in
            stream.eventLoop.makeCompletedFuture { try own.value.connection.begin(stream, own.value.frames) }
        }
        try pipeline.addHandlers(management, ErrorHandler(self, frames))
        let room = HTTP2FrameGuard.connectionWindow - HTTP2FrameGuard.firstWindow
        let update = HTTP2Frame(streamID: .rootStream, payload: .windowUpdate(windowSizeIncrement: room))
        pipeline.writeAndFlush(NIOAny(update), promise: nil)
        peer.isHTTP2 = true
        worker.add(self)
        channel.closeFuture.whenComplete { _ in own.value.connection.closed() }
    }

    private func closed() { worker.remove(self) }

    private func begin(_ stream: any Channel, _ frames: HTTP2FrameGuard) throws {
        guard let id = try stream.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID) else { return }
        let number = UInt32(Int(id))
        if frames.isExcess(id) {
            let own = NIOLoopBound(frames, eventLoop: channel.eventLoop)
            stream.closeFuture.whenComplete { _ in own.value.waitingData.remove(number) }
            return try resetExcess(stream)
        }
        if peer.hasReachedRequestLimit { end() }
        peer.openStreams += 1
        if !peer.isOverLimit { deadline = .max }
        let own = NIOLoopBound(self, eventLoop: channel.eventLoop)
        stream.closeFuture.whenComplete { _ in own.value.streamEnded() }
        let handler = HTTP2Stream(number, of: self, frames)
        let client = ClientConnection(worker: worker, peer: peer, stream: handler)
        handler.client = client
        try stream.pipeline.syncOperations.addHandlers(handler, client)
    }

    private func streamEnded() {
        peer.openStreams -= 1
        if peer.openStreams == 0 { peer.noteIdle(at: worker.now) }
        guard peer.openStreams == 0, !peer.isOverLimit else { return }
        let settings = worker.gateway.settings
        deadline = worker.now + (isEnding ? settings.lingerTimeout : settings.idleTimeout).nanoseconds
    }

    /// A stream exceeds the limit. The client may send the request again (RFC 9113 §8.7).
    private func resetExcess(_ stream: any Channel) throws {
        countRefusal("streams")
        try stream.pipeline.syncOperations.addHandler(Refusal())
    }

    /// Counts a stream that the client may send again.
    func countRefusal(_ reason: String) {
        worker.gateway.metrics.countRefusal(reason)
        logRefusal(reason)
        refusals += 1
        if refusals >= Self.maximumRefusals { channel.close(promise: nil) }
    }

    /// A stream carried something other than a request. Over HTTP/1.1 it would have cost the client its connection.
    func malformed() {
        worker.gateway.metrics.countRefusal("malformed: HTTP/2 stream")
        logRefusal("malformed: HTTP/2 stream")
        peer.countMalformed(now: worker.now)
        faults += 1
        if faults >= Self.maximumFaults { channel.close(promise: nil) }
    }

    /// The client has sent too many frames for their payload.
    private func flooded() {
        worker.gateway.metrics.countRefusal("DATA frames")
        logRefusal("DATA frames")
        isCut = true
        channel.close(promise: nil)
    }

    /// Logs a stream that has no response.
    private func logRefusal(_ refusal: String) {
        worker.logAccess(
            AccessLine(
                requestID: Array(RequestID.make().utf8), client: peer.address, isHTTP2: true, nanoseconds: 0,
                refusal: refusal))
    }

    /// Sends GOAWAY, so that the client opens no more streams. The connection ends with the last open stream, or soon
    /// if none is open.
    func end() {
        guard !isEnding else { return }
        isEnding = true
        if peer.openStreams == 0 {
            deadline = min(deadline, worker.now + worker.gateway.settings.lingerTimeout.nanoseconds)
        }
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    func timedOut(now: Int64) {
        deadline = .max
        let step = linger.step(
            waiting: channel.waitingBytes, isEnding: isEnding || peer.isOverLimit,
            hasDelivered: { channel.hasDelivered }, at: now)
        switch step {
        case .wait: deadline = now + Self.checkInterval
        case .end: end()
        case .cut:
            isCut = true
            channel.close(promise: nil)
        }
    }

    /// Whether the connection may be closed now. NIO would close it with the last stream, and discard the bytes that
    /// wait.
    fileprivate func mayClose() -> Bool {
        if isCut || peer.openConnection.isClosing || !channel.isActive
            || (channel.waitingBytes == 0 && channel.hasDelivered)
        {
            return true
        }
        isEnding = true
        deadline = worker.now + Self.checkInterval
        return false
    }

    private static var connectionConfiguration: NIOHTTP2Handler.ConnectionConfiguration {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: HTTP2FrameGuard.codecStreams),
            // Larger than the accepted size, so that a head that is too long gets a 431 and the connection stays open.
            HTTP2Setting(parameter: .maxHeaderListSize, value: 2 * HeadLimits.bytes),
        ]
        // `HTTP2RequestHead` and `HTTP2Stream` verify heads and lengths byte by byte. The codec compares a client's
        // text as Unicode, which takes quadratic time for a run of combining marks.
        configuration.headerBlockValidation = .disabled
        configuration.contentLengthValidation = .disabled
        // Streams whose bodies may have been in flight when they were reset.
        configuration.maximumRecentlyResetStreams = 4 * maximumStreams
        return configuration
    }

    private static var streamConfiguration: NIOHTTP2Handler.StreamConfiguration {
        var configuration = NIOHTTP2Handler.StreamConfiguration()
        configuration.outboundBufferSizeHighWatermark = waitingOutput
        configuration.outboundBufferSizeLowWatermark = waitingOutput / 2
        return configuration
    }
}

extension HTTP2Connection {
    /// Its position in the pipeline is after the socket and TLS, and before all handlers that may close the connection.
    private final class CloseHandler: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        private let connection: HTTP2Connection

        init(of connection: HTTP2Connection) { self.connection = connection }

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            if mode != .all || connection.mayClose() { return context.close(mode: mode, promise: promise) }
            promise?.succeed()
        }
    }

    /// Closes the connection only for errors of the connection, not of one stream.
    private final class ErrorHandler: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame

        private let connection: HTTP2Connection
        private let frames: HTTP2FrameGuard

        init(_ connection: HTTP2Connection, _ frames: HTTP2FrameGuard) {
            self.connection = connection
            self.frames = frames
        }

        /// NIO's codec reports errors of streams and of the connection in the same way. By then it has reset the stream
        /// (RFC 9113 §5.4.2), or sent GOAWAY for the connection.
        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            guard error is any NIOHTTP2Error, !frames.isBroken else { return context.close(promise: nil) }
            switch error {
            // A reset by the client or the gateway, and writes that were pending at that time.
            case is NIOHTTP2Errors.StreamClosed, is NIOHTTP2Errors.StreamError, is NIOHTTP2Errors.NoSuchStream: break
            default: connection.malformed()
            }
        }
    }

    /// Refuses a stream as soon as it is opened.
    private final class Refusal: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        typealias OutboundOut = HTTP2Frame.FramePayload

        func channelActive(context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(.rstStream(.refusedStream)), promise: nil)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

        func errorCaught(context: ChannelHandlerContext, error: any Error) {}
    }
}

/// Switches a connection to HTTP/2 if client and gateway agreed on it in the TLS handshake (RFC 7301). Otherwise the
/// connection stays as it is.
final class HTTP2Switch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let connection: ClientConnection

    /// - Parameter connection: the handler after this one; it is removed when HTTP/2 is used.
    init(from connection: ClientConnection) { self.connection = connection }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted(let negotiated) = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        let pipeline = context.pipeline.syncOperations
        if negotiated == "h2" {
            pipeline.removeHandler(connection, promise: nil)
            do {
                try HTTP2Connection(on: context.channel, worker: connection.worker, peer: connection.peer).begin()
            } catch {
                return context.close(promise: nil)
            }
        } else {
            connection.awaitFirstRequest()
        }
        pipeline.removeHandler(context: context, promise: nil)
    }
}
