import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import NIOTLS

/// A request on its way through a connection pool.
struct APNsAttempt: Sendable {
    let call: APNsCall
    /// When the caller gets an outcome at the latest.
    let deadline: ContinuousClock.Instant
    /// Unsafe, because the checks of a checked continuation would cost time for every push. The pool holds each attempt
    /// in one place at a time: its inbox, a queue, or a stream.
    let outcome: UnsafeContinuation<SendOutcome, Never>
    var repeats = Repeats()
    /// The provider token of the last request.
    var provider: ProviderToken?
    /// Whether the push tries out a stopped connection pool.
    var isProbe = false
}

/// One HTTP/2 connection to APNs: a channel handler that carries out the actions of ``APNsConnectionMachine``. Used on
/// its event loop only.
///
/// Streams are frames of this handler and not channels of NIO's multiplexer, which would cost more than the rest of a
/// push.
final class APNsConnection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame
    typealias Machine = APNsConnectionMachine<APNsAttempt>

    /// The pushes that a connection carries.
    enum Role: String, Sendable, CaseIterable {
        /// Pushes to tokens that Apple has never accepted. APNs closes connections with many refusals.
        case unproven
        case urgent
        case shared
    }

    /// Bytes that a server may send before it waits (RFC 9113 §6.9.2).
    private static let defaultWindow = 65_535
    /// A server that closes an unused connection earlier has refused it.
    private static let shortestIdleLife = Duration.seconds(10)

    let role: Role
    private(set) var machine: Machine
    /// The provider token of the connection.
    var token = ConnectionToken()
    private let createdAt = ContinuousClock.now
    private var hasAnswered = false
    private let authority: String
    private let scheme: String
    private let pool: APNsConnectionPoolCore
    private var context: ChannelHandlerContext?
    private var timer: Scheduled<Void>?
    private var timerDue: ContinuousClock.Instant?
    private var hasSent = false
    private var hasUnflushedFrames = false
    private var isEnding = false
    private var isInactive = false
    /// A stream whose response is complete although its request may not be.
    private var answeredStream: HTTP2StreamID?
    /// Why the connection ended, for the log.
    private var endReason: String?

    init(role: Role, server: APNsEndpoints.Server, limits: APNsLimits, pool: APNsConnectionPoolCore) {
        self.role = role
        authority = server.authority
        scheme = server.isEncrypted ? "https" : "http"
        machine = Machine(limits: limits, now: .now)
        self.pool = pool
    }

    // MARK: - Connecting

    /// Connects. The name is looked up for each connection, because Apple's servers come and go.
    func connect(
        to server: APNsEndpoints.Server, tls: NIOSSLContext?, limits: APNsLimits, on eventLoop: any EventLoop
    ) {
        scheduleTimer(on: eventLoop)
        let own = NIOLoopBound(self, eventLoop: eventLoop)
        ClientBootstrap(group: eventLoop)
            .connectTimeout(TimeAmount(limits.connectTimeout))
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        // Server Name Indication does not permit addresses (RFC 6066 §3). The certificate is then
                        // verified against the address itself.
                        let isAddress = (try? SocketAddress(ipAddress: server.host, port: 0)) != nil
                        try pipeline.addHandler(
                            NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : server.host))
                    }
                    try pipeline.addHandler(Self.codec(limits))
                    try pipeline.addHandler(own.value)
                }
            }
            .connect(host: server.host, port: server.port)
            .whenFailure { error in own.value.end("\(error)") }
    }

    /// The context for all connections to a server.
    static func tls(trustRootsFile: String?) throws -> NIOSSLContext {
        var settings = TLSConfiguration.makeClientConfiguration()
        settings.minimumTLSVersion = .tlsv12
        settings.applicationProtocols = ["h2"]
        // For the server's `close_notify`, which a server that has stopped answering does not send.
        settings.shutdownTimeout = .seconds(1)
        if let trustRootsFile { settings.trustRoots = .file(trustRootsFile) }
        return try NIOSSLContext(configuration: settings)
    }

    private static func codec(_ limits: APNsLimits) -> NIOHTTP2Handler {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .enablePush, value: 0),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 16 * 1024),
        ]
        if limits.maximumBody > Self.defaultWindow {
            connection.initialSettings.append(
                HTTP2Setting(parameter: .initialWindowSize, value: limits.maximumBody))
        }
        // The machine reads two fields of a response and ignores the others. Validation would cost time for each.
        connection.headerBlockValidation = .disabled
        // Responses to streams that have timed out may come together.
        connection.maximumRecentlyResetStreams = 2 * APNsLimits().maximumStreams
        var stream = NIOHTTP2Handler.StreamConfiguration()
        // A server that goes away may reset all streams of a connection.
        stream.streamResetFrameRateLimit.maximumCount = 10 * APNsLimits().maximumStreams
        return NIOHTTP2Handler(mode: .client, connectionConfiguration: connection, streamConfiguration: stream)
    }

    // MARK: - Sending

    /// Sends a request on a new stream. The machine must have room. ``flush()`` must follow.
    func send(_ attempt: APNsAttempt, with provider: ProviderToken, now: ContinuousClock.Instant) {
        var attempt = attempt
        attempt.provider = provider
        let id = HTTP2StreamID(Int(machine.open(attempt, deadline: attempt.deadline, now: now)))
        let headers = APNsRequest.headers(
            attempt.call, authority: authority, scheme: scheme, provider: provider, isFirst: !hasSent)
        let body = attempt.call.body
        hasSent = true
        let written = context?.eventLoop.makePromise(of: Void.self)
        written?.futureResult.assumeIsolated().whenSuccess { self.machine.wrote(stream: UInt32(Int(id))) }
        write(id, .headers(.init(headers: headers, endStream: body.isEmpty)), body.isEmpty ? written : nil)
        guard !body.isEmpty else { return }
        write(id, .data(.init(data: .byteBuffer(ByteBuffer(bytes: body)), endStream: true)), written)
    }

    /// Writes the frames out, and schedules the next timeout.
    func flush() {
        guard let context else { return }
        if hasUnflushedFrames {
            hasUnflushedFrames = false
            context.flush()
        }
        scheduleTimer(on: context.eventLoop)
    }

    /// Opens no more streams, and closes when the last one has ended.
    func drain() {
        machine.drain()
        closeIfFinished()
    }

    func verify() { machine.verify() }

    /// Whether the connection was of no use, so that the next one must wait.
    var hasFailed: Bool {
        !hasAnswered && (hasSent || ContinuousClock.now < createdAt + Self.shortestIdleLife)
    }

    /// Whether a stream may be opened. One whose frames waited for the socket might be sent much later.
    var hasRoom: Bool { machine.capacity > 0 && context?.channel.isWritable ?? false }

    private func write(
        _ stream: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload, _ promise: EventLoopPromise<Void>? = nil
    ) {
        guard let context else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        hasUnflushedFrames = true
        context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: promise)
    }

    private func closeIfBlocked() {
        let options = context?.channel.syncOptions
        let waiting = (try? options?.getOption(.bufferedWritableBytes)) ?? 0
        if waiting > 0 { end("the socket takes no bytes") }
    }

    private func closeIfFinished() {
        if machine.isFinished { end("finished") }
    }

    /// Closes the connection. Requests in flight are in doubt.
    private func end(_ reason: String) {
        guard !isEnding else { return }
        isEnding = true
        endReason = endReason ?? reason
        if let context {
            if machine.phase != .connecting {
                write(.rootStream, .goAway(lastStreamID: .rootStream, errorCode: .noError, opaqueData: nil))
                context.flush()
            }
            context.close(promise: nil)
        }
        becomeInactive()
    }

    private func becomeInactive() {
        guard !isInactive else { return }
        isInactive = true
        timer?.cancel()
        perform(machine.closed())
        pool.ended(self, reason: endReason ?? "closed by the server")
    }

    // MARK: - Timers

    private func scheduleTimer(on eventLoop: any EventLoop) {
        guard !isInactive, let next = machine.nextTimer else { return }
        // A timer that is early finds nothing to do. So one suffices while pushes come and go.
        if let timerDue, timerDue <= next { return }
        timer?.cancel()
        timerDue = next
        let own = NIOLoopBound(self, eventLoop: eventLoop)
        timer = eventLoop.scheduleTask(in: TimeAmount(max(.zero, ContinuousClock.now.duration(to: next)))) {
            own.value.timerFired(on: eventLoop)
        }
    }

    private func timerFired(on eventLoop: any EventLoop) {
        timerDue = nil
        perform(machine.timerFired(now: .now))
        closeIfFinished()
        pool.progressed()
        flush()
        scheduleTimer(on: eventLoop)
    }

    private func perform(_ actions: [Machine.Action]) {
        for action in actions {
            switch action {
            case .answered(let attempt, let response): answered(attempt, response)
            case .notProcessed(let attempt): pool.notProcessed(attempt)
            case .inDoubt(let attempt): pool.finish(attempt, .inDoubt)
            case .reset(let stream): write(HTTP2StreamID(Int(stream)), .rstStream(.cancel))
            case .ping: write(.rootStream, .ping(HTTP2PingData(withInteger: 1), ack: false))
            case .closeIfBlocked: closeIfBlocked()
            case .close(let reason): end(reason)
            }
        }
    }

    private func answered(_ attempt: APNsAttempt, _ response: Machine.Response) {
        hasAnswered = true
        let answer = APNsRequest.answer(response, keepsBody: attempt.call.isOfChannels)
        pool.answered(attempt, answer, in: response.duration, on: self)
    }

    // MARK: - From the channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if isEnding { context.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        if let answeredStream { reset(answered: answeredStream, at: frame) }
        let now = ContinuousClock.now
        switch frame.payload {
        case .headers(let head):
            if head.endStream { answeredStream = frame.streamID }
            let fields = APNsRequest.responseFields(head.headers)
            perform(
                machine.head(
                    stream: UInt32(Int(frame.streamID)), status: fields.status, retryAfter: fields.retryAfter,
                    channelID: fields.channelID, endsStream: head.endStream, now: now))
        case .data(let part):
            if part.endStream { answeredStream = frame.streamID }
            guard case .byteBuffer(let bytes) = part.data else { return }
            perform(
                machine.body(
                    stream: UInt32(Int(frame.streamID)), bytes.readableBytesView, endsStream: part.endStream, now: now))
        case .rstStream(let code):
            perform(
                machine.reset(
                    stream: UInt32(Int(frame.streamID)), isRefused: code == .refusedStream, now: now))
        case .goAway(let last, let code, let data): receive(goAway: last, code, data, now)
        case .settings(.settings(let settings)):
            let maximum = settings.last { $0.parameter == .maxConcurrentStreams }?.value
            if machine.settings(maximumStreams: maximum, now: now) { pool.connected(self) }
        case .ping(_, ack: true): machine.pingAcknowledged(now: now)
        default: machine.heard(now)
        }
    }

    private func receive(
        goAway last: HTTP2StreamID, _ code: HTTP2ErrorCode, _ data: ByteBuffer?, _ now: ContinuousClock.Instant
    ) {
        // “JSON data can be included in the GOAWAY frame when a connection terminates” (Apple, “Handling notification
        // responses from APNs”).
        let reason = data.flatMap { APNsRequest.reason(of: Array($0.readableBytesView)) }
        endReason = "GOAWAY: \(reason ?? "\(code)")"
        if let reason { pool.closing(self, for: reason) }
        perform(machine.goAway(lastStream: UInt32(Int(last)), now: now))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if let answeredStream { reset(answered: answeredStream) }
        closeIfFinished()
        pool.progressed()
        flush()
    }

    /// The server has answered before it took the whole request, so the rest is not sent (RFC 9113 §8.1).
    ///
    /// - Parameter frame: the next frame, if it came already. It may be the server's own RST_STREAM.
    private func reset(answered stream: HTTP2StreamID, at frame: HTTP2Frame? = nil) {
        answeredStream = nil
        if case .rstStream = frame?.payload, frame?.streamID == stream { return }
        write(stream, .rstStream(.cancel))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let closed as StreamClosedEvent:
            // Comes with the frame that ends the stream, unless a part of the request waits for the server's window.
            if closed.streamID == answeredStream { answeredStream = nil }
            if let code = closed.reason {
                perform(
                    machine.reset(
                        stream: UInt32(Int(closed.streamID)), isRefused: code == .refusedStream, now: .now))
            }
        case let window as NIOHTTP2WindowUpdatedEvent: extend(window)
        case let handshake as TLSUserEvent:
            if case .handshakeCompleted(let negotiated) = handshake, negotiated != "h2" {
                end("the server does not speak HTTP/2")
            }
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    /// Lets the server send more. A single response fits into its stream's first window, but all share that of the
    /// connection.
    private func extend(_ window: NIOHTTP2WindowUpdatedEvent) {
        let full = Self.defaultWindow
        guard window.streamID == .rootStream, let size = window.inboundWindowSize, size < full / 2 else { return }
        write(.rootStream, .windowUpdate(windowSizeIncrement: full - size))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A frame for a stream that the server has closed meanwhile.
        if error is NIOHTTP2Errors.StreamError { return }
        end("\(error)")
    }

    func channelInactive(context: ChannelHandlerContext) {
        becomeInactive()
        context.fireChannelInactive()
    }
}
