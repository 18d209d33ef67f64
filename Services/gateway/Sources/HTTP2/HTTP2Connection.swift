import NIOCore
import NIOHPACK
import NIOHTTP2

/// A client's connection that speaks HTTP/2: each stream carries one request to a `ClientConnection` of its own.
struct HTTP2Connection {
    /// Requests that a client may have open at once.
    private static let maximumStreams = 100
    /// Bytes of an answer that may wait for the client before no more is read for it.
    private static let waitingOutput = 64 * 1024

    let worker: Worker
    let peer: ClientPeer

    func begin(on channel: any Channel) throws {
        let settings = worker.gateway.settings
        let management = NIOHTTP2ServerConnectionManagementHandler(
            eventLoop: channel.eventLoop,
            configuration: .init(
                maxIdleTime: TimeAmount(settings.idleTimeout),
                maxAge: peer.isOverLimit ? TimeAmount(settings.overLimitTimeout) : nil,
                maxGraceTime: TimeAmount(settings.streamTimeout), keepalive: nil))
        let own = NIOLoopBound(self, eventLoop: channel.eventLoop)
        let pipeline = channel.pipeline.syncOperations
        _ = try pipeline.configureHTTP2Pipeline(
            mode: .server, connectionConfiguration: Self.connectionConfiguration,
            streamConfiguration: Self.streamConfiguration, streamDelegate: management.http2StreamDelegate
        ) { stream in
            stream.eventLoop.makeCompletedFuture { try own.value.begin(stream) }
        }
        try pipeline.addHandlers(management, ErrorHandler())
        // The connection was open before the handler came: this starts its clocks.
        management.channelActive(context: try pipeline.context(handler: management))
        worker.addHTTP2(channel)
    }

    private func begin(_ stream: any Channel) throws {
        if peer.hasHadAllRequests { stream.parent.map(Self.endGracefully) }
        try stream.pipeline.syncOperations.addHandlers(
            HTTP2Stream(metrics: worker.gateway.metrics), ClientConnection(worker: worker, peer: peer))
    }

    /// Has the client open no more streams. The connection ends with the last of those that are open.
    static func endGracefully(_ channel: any Channel) {
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    private static var connectionConfiguration: NIOHTTP2Handler.ConnectionConfiguration {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: maximumStreams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: HeadLimits.bytes),
        ]
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
    /// Closes a connection that is broken. What is wrong with one stream has reset that stream already.
    private final class ErrorHandler: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if !(error is NIOHTTP2Errors.StreamError) { context.close(promise: nil) }
        }
    }
}
