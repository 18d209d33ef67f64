import NIOCore
import NIOHPACK
import NIOHTTP2

/// A client's connection that speaks HTTP/2: each stream carries one request to a `ClientConnection` of its own.
final class HTTP2Connection: Timed {
    /// Requests that a client may have open at once.
    private static let maximumStreams = 100
    /// Bytes of an answer that may wait for the client before no more is read for it.
    private static let waitingOutput = 64 * 1024
    /// Streams with requests that nobody could read, after which nothing good is to be expected.
    private static let maximumFaults = 50

    let channel: any Channel
    private let worker: Worker
    private let peer: ClientPeer
    private var streams = 0
    private var faults = 0
    /// Whether the client was told to open no more streams.
    private var isEnding = false
    /// When `timedOut` is to be called; nanoseconds of the worker's clock.
    private(set) var deadline: Int64 {
        didSet { if channel.isActive { worker.timers.note(self) } }
    }
    var timerPlace: TimerPlace?

    init(on channel: any Channel, worker: Worker, peer: ClientPeer) {
        self.channel = channel
        self.worker = worker
        self.peer = peer
        let wait = peer.isOverLimit ? worker.gateway.settings.overLimitTimeout : worker.gateway.settings.idleTimeout
        deadline = worker.now + wait.nanoseconds
    }

    func begin() throws {
        let management = NIOHTTP2ServerConnectionManagementHandler(
            eventLoop: channel.eventLoop,
            configuration: .init(maxIdleTime: nil, maxAge: nil, maxGraceTime: nil, keepalive: nil))
        let own = NIOLoopBound(self, eventLoop: channel.eventLoop)
        let pipeline = channel.pipeline.syncOperations
        _ = try pipeline.configureHTTP2Pipeline(
            mode: .server, connectionConfiguration: Self.connectionConfiguration,
            streamConfiguration: Self.streamConfiguration, streamDelegate: management.http2StreamDelegate
        ) { stream in
            stream.eventLoop.makeCompletedFuture { try own.value.begin(stream) }
        }
        try pipeline.addHandlers(management, ErrorHandler())
        peer.isHTTP2 = true
        worker.add(self)
        channel.closeFuture.whenComplete { _ in own.value.worker.remove(own.value) }
    }

    private func begin(_ stream: any Channel) throws {
        if peer.hasHadAllRequests { end() }
        streams += 1
        if !peer.isOverLimit { deadline = .max }
        let own = NIOLoopBound(self, eventLoop: channel.eventLoop)
        stream.closeFuture.whenComplete { _ in own.value.streamEnded() }
        try stream.pipeline.syncOperations.addHandlers(
            HTTP2Stream(of: self), ClientConnection(worker: worker, peer: peer))
    }

    private func streamEnded() {
        streams -= 1
        guard streams == 0, !peer.isOverLimit else { return }
        let settings = worker.gateway.settings
        deadline = worker.now + (isEnding ? settings.lingerTimeout : settings.idleTimeout).nanoseconds
    }

    /// A stream began with what is no request. Over HTTP/1.1 it would have cost the client its connection.
    func malformed() {
        worker.gateway.metrics.refused("malformed: HTTP/2 fields")
        peer.countRequest()
        faults += 1
        if faults >= Self.maximumFaults { channel.close(promise: nil) }
    }

    /// Has the client open no more streams. The connection ends with the last of those that are open, or soon where
    /// there are none: whatever the client says to it.
    func end() {
        guard !isEnding else { return }
        isEnding = true
        if streams == 0 { deadline = min(deadline, worker.now + worker.gateway.settings.lingerTimeout.nanoseconds) }
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    func timedOut(now: Int64) {
        deadline = .max
        if isEnding || peer.isOverLimit { channel.close(promise: nil) } else { end() }
    }

    private static var connectionConfiguration: NIOHTTP2Handler.ConnectionConfiguration {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: maximumStreams),
            // More than is taken, so that who sends more than that is told so (431) and keeps the connection.
            HTTP2Setting(parameter: .maxHeaderListSize, value: 2 * HeadLimits.bytes),
        ]
        // Whose bodies were on their way when they were reset.
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
    /// Closes a connection that is broken, and no other.
    private final class ErrorHandler: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if !Self.concernsOneStream(error) { context.close(promise: nil) }
        }

        /// NIO tells of both in one way, and has reset the stream already where it is one stream's (RFC 9113 §5.4.2): a
        /// request's fields, or a body of another length than they say.
        private static func concernsOneStream(_ error: any Error) -> Bool {
            switch error {
            case is NIOHTTP2Errors.StreamError, is NIOHTTP2Errors.StreamClosed,
                is NIOHTTP2Errors.ContentLengthViolated, is NIOHTTP2Errors.ContentLengthHeadersMismatch,
                is NIOHTTP2Errors.ContentLengthHeaderNegative, is NIOHTTP2Errors.ContentLengthHeaderMalformedValue,
                is NIOHTTP2Errors.DuplicatePseudoHeader, is NIOHTTP2Errors.EmptyPathHeader,
                is NIOHTTP2Errors.ForbiddenHeaderField, is NIOHTTP2Errors.InvalidHTTP2HeaderFieldName,
                is NIOHTTP2Errors.InvalidHTTP2HeaderFieldValue, is NIOHTTP2Errors.InvalidPseudoHeaderValue,
                is NIOHTTP2Errors.InvalidPseudoHeaders, is NIOHTTP2Errors.PseudoHeaderAfterRegularHeader,
                is NIOHTTP2Errors.UnknownPseudoHeader, is NIOHTTP2Errors.UnsupportedPseudoHeader:
                true
            default: false
            }
        }
    }
}
