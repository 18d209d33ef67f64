import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOSSL

/// One connection to APNs, behind a `NIOHTTP2Handler` without stream channels: frames in, frames out.
final class APNsConnection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// A request that has no answer yet.
    private struct Stream {
        var fields: HPACKHeaders
        var body: [UInt8] = []
        /// The number of its entry in the log of pushes, once it is complete.
        var logged: Int?
        /// The response's field with the request's identifier.
        var identifierName = "apns-id"
    }

    /// "APNs allows only one stream until you post a request with a valid authentication token" ("Establishing a
    /// connection to APNs").
    private static let firstStreams = 1
    private static let streams = 1_000
    private static let window = 65_535
    private static let connectionWindow = 16 << 20
    private static let maximumBodyBytes = 60_000

    private let simulation: APNsSimulation
    private let number: Int
    private let wire: APNsWire
    /// Set while the handler is in a pipeline.
    private var context: ChannelHandlerContext?
    private var open: [HTTP2StreamID: Stream] = [:]
    private var newest = HTTP2StreamID.rootStream
    private var providerTokens = ProviderTokenMachine()
    private var mayUseAllStreams = false
    /// Received since the last WINDOW_UPDATE of the connection.
    private var receivedBytes = 0
    private var isWindowHeld: Bool
    private var isClosing = false
    /// Nothing is sent any more.
    private var isMute = false
    /// See ``APNsPushLog/Entry/wasStalled``.
    private var wasStalled = false
    private var heldBack: [(HTTP2StreamID, APNsAnswer, String)] = []

    private init(_ simulation: APNsSimulation, number: Int, wire: APNsWire, holdingWindow isWindowHeld: Bool) {
        (self.simulation, self.number, self.wire, self.isWindowHeld) = (simulation, number, wire, isWindowHeld)
    }

    /// Adds the handlers of a new connection, behind TLS if there is any.
    static func add(to channel: any Channel, of simulation: APNsSimulation) throws {
        let isWindowHeld = simulation.faults.take(for: nil) { $0.mode == .window } != nil
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: firstStreams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 8 << 10),
            HTTP2Setting(parameter: .initialWindowSize, value: isWindowHeld ? 0 : window),
        ]
        let wire = APNsWire()
        try channel.pipeline.syncOperations.addHandlers(
            wire, NIOHTTP2Handler(mode: .server, connectionConfiguration: configuration),
            APNsConnection(
                simulation, number: simulation.nextConnection(), wire: wire, holdingWindow: isWindowHeld))
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let connection = NIOLoopBound(self, eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        simulation.opened(number) { eventLoop.execute { connection.value.release() } }
        if context.channel.isActive { raiseConnectionWindow() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        open = [:]
        heldBack = []
        simulation.closed(number)
    }

    func channelActive(context: ChannelHandlerContext) {
        raiseConnectionWindow()
        context.fireChannelActive()
    }

    private func raiseConnectionWindow() {
        if !isWindowHeld { grow(by: Self.connectionWindow - Self.window) }
        context?.flush()
    }

    private func grow(by increment: Int) {
        write(.rootStream, .windowUpdate(windowSizeIncrement: increment))
    }

    // MARK: - Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers):
            // A second block holds trailers.
            if open[frame.streamID] == nil {
                open[frame.streamID] = Stream(fields: headers.headers)
                newest = max(newest, frame.streamID)
                beginFault(of: headers.headers)
            }
            if headers.endStream { complete(frame.streamID) }
        case .data(let data):
            guard case .byteBuffer(let bytes) = data.data else { return }
            receive(bytes, on: frame.streamID)
            if data.endStream { complete(frame.streamID) }
        case .rstStream: open[frame.streamID] = nil
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let closed = event as? StreamClosedEvent { open[closed.streamID] = nil }
        context.fireUserInboundEventTriggered(event)
    }

    /// The HTTP/2 handler has sent GOAWAY where the client broke the protocol.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case is NIOHTTP2Errors.StreamClosed, is NIOHTTP2Errors.NoSuchStream: break
        default: context.close(promise: nil)
        }
    }

    private func receive(_ bytes: ByteBuffer, on stream: HTTP2StreamID) {
        receivedBytes += bytes.readableBytes
        if receivedBytes > Self.connectionWindow / 4, !isWindowHeld {
            grow(by: receivedBytes)
            receivedBytes = 0
        }
        guard let count = open[stream]?.body.count else { return }
        guard count + bytes.readableBytes <= Self.maximumBodyBytes else {
            open[stream] = nil
            return write(stream, .rstStream(.enhanceYourCalm))
        }
        open[stream]?.body += bytes.readableBytesView
    }

    /// The request is there as a whole.
    private func complete(_ id: HTTP2StreamID) {
        guard let stream = open[id] else { return }
        let push = APNsPush(
            fields: stream.fields.lazy.map { (name: $0.name, value: $0.value) }, body: stream.body)
        let token = push.address
        let refusal = refusal(of: push)
        if providerTokens.isAuthenticated, !mayUseAllStreams {
            mayUseAllStreams = true
            setStreams(Self.streams)
        }
        let fault = simulation.faults.take(for: token) { !$0.mode.isOfConnection }
        let isProcessed = (fault?.isProcessed ?? true) && !(fault?.mode == .goAway && lastStream(of: fault) < id)
        let planned = refusal ?? (isProcessed ? simulation.answers.take(for: token) : nil)
        let channelsApp = push.channelsApp
        let answer =
            planned ?? (isProcessed ? channelsApp.map { simulation.channels.perform(push, app: $0) } : nil) ?? .ok
        let isOfDevice = channelsApp == nil && push.broadcastApp == nil
        if !isOfDevice { open[id]?.identifierName = "apns-request-id" }
        let identifier =
            (isOfDevice ? push.identifier : push.requestIdentifier) ?? UUID().uuidString.lowercased()
        if channelsApp == nil {
            open[id]?.logged = simulation.pushes.add(
                APNsPushLog.Entry(
                    time: Int((Date().timeIntervalSince1970 * 1_000).rounded(.down)), connection: number,
                    token: isOfDevice ? token ?? "" : "", channel: isOfDevice ? nil : push.channelIdentifier,
                    topic: push.topic, type: push.type, priority: push.priority.flatMap { Int($0) },
                    id: identifier, collapseId: push.collapseIdentifier,
                    expiration: push.expiration.flatMap { Int($0) },
                    payload: String(decoding: push.body, as: UTF8.self), status: isProcessed ? answer.status : nil,
                    reason: isProcessed ? answer.body?.reason : nil, fault: fault?.mode.rawValue,
                    wasStalled: wasStalled))
        }
        if isProcessed { simulation.log.add(fields: stream.fields, body: stream.body, status: answer.status) }
        if let fault {
            carryOut(fault, instead: answer, identifier, on: id)
        } else {
            respond(answer, identifier, on: id, after: answer.delay)
        }
    }

    private func refusal(of push: APNsPush) -> APNsAnswer? {
        let authenticate: (String?) -> Result<ProviderToken, APNsAnswer.Refusal> = { [simulation] in
            self.providerTokens.verify($0, now: simulation.now, key: simulation.key)
        }
        if let app = push.channelsApp { return push.channelsRefusal(app: app, authenticate: authenticate) }
        if let app = push.broadcastApp {
            let policy = push.channelIdentifier.flatMap { simulation.channels.policy(of: $0, app: app) }
            return push.broadcastRefusal(policy: policy, app: app, authenticate: authenticate)
        }
        return push.refusal(issuedTopic: { simulation.topic(of: String($0)) }, authenticate: authenticate)
    }

    // MARK: - Responses

    private func respond(_ answer: APNsAnswer, _ identifier: String, on stream: HTTP2StreamID, after delay: Double) {
        guard delay > 0 else { return respond(answer, identifier, on: stream) }
        schedule(after: delay) { connection in
            connection.respond(answer, identifier, on: stream)
            connection.context?.flush()
        }
    }

    private func respond(_ answer: APNsAnswer, _ identifier: String, on stream: HTTP2StreamID) {
        guard open[stream] != nil else { return }
        let json = answer.json ?? answer.body.flatMap { try? JSONEncoder().encode($0) }.map(Array.init)
        writeHead(answer, identifier, on: stream, endStream: json == nil)
        if let json { write(stream, .data(.init(data: .byteBuffer(ByteBuffer(bytes: json)), endStream: true))) }
        open[stream] = nil
        closeIfIdle()
    }

    private func writeHead(
        _ answer: APNsAnswer, _ identifier: String, on stream: HTTP2StreamID, endStream: Bool
    ) {
        var fields = HPACKHeaders()
        fields.reserveCapacity(4)
        fields.add(name: ":status", value: "\(answer.status)")
        // Each is another one, so it has no place in the table of the connection.
        fields.add(name: open[stream]?.identifierName ?? "apns-id", value: identifier, indexing: .nonIndexable)
        if let channel = answer.channelID { fields.add(name: "apns-channel-id", value: channel) }
        if answer.body != nil || answer.json != nil { fields.add(name: "content-type", value: "application/json") }
        if let seconds = answer.retryAfter { fields.add(name: "retry-after", value: "\(seconds)") }
        write(stream, .headers(.init(headers: fields, endStream: endStream)))
    }

    private func write(_ stream: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload) {
        guard !isMute, let context else { return }
        context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: payload)), promise: nil)
    }

    private func setStreams(_ count: Int) {
        write(.rootStream, .settings(.settings([HTTP2Setting(parameter: .maxConcurrentStreams, value: count)])))
    }

    private func schedule(after seconds: Double, _ action: @escaping (APNsConnection) -> Void) {
        guard let context else { return }
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(seconds * 1_000))) { action(self) }
    }

    private func closeIfIdle() {
        guard isClosing, open.isEmpty else { return }
        close()
    }

    private func close() {
        context?.flush()
        context?.close(promise: nil)
    }

    // MARK: - Faults

    /// A fault of the connection begins when the client has sent a request's head.
    private func beginFault(of fields: HPACKHeaders) {
        guard
            let fault = simulation.faults.take(
                for: APNsPush(fields: fields.lazy.map { (name: $0.name, value: $0.value) }).address,
                where: { $0.mode.isOfConnection && !($0.mode == .window && isWindowHeld) })
        else { return }
        switch fault.mode {
        case .window:
            isWindowHeld = true
            setInitialWindow(0)
        default:
            wasStalled = true
            _ = context?.channel.setOption(.autoRead, value: false)
        }
    }

    private func setInitialWindow(_ bytes: Int) {
        write(.rootStream, .settings(.settings([HTTP2Setting(parameter: .initialWindowSize, value: bytes)])))
    }

    private func lastStream(of fault: APNsFault?) -> HTTP2StreamID {
        fault?.lastStreamID.map { HTTP2StreamID($0) } ?? newest
    }

    private func carryOut(
        _ fault: APNsFault, instead answer: APNsAnswer, _ identifier: String, on stream: HTTP2StreamID
    ) {
        switch fault.mode {
        case .none, .window, .stall: respond(answer, identifier, on: stream, after: answer.delay)
        case .streams:
            setStreams(fault.count ?? 1)
            respond(answer, identifier, on: stream, after: answer.delay)
        case .late: respond(answer, identifier, on: stream, after: fault.delay ?? 30)
        case .silent: break
        case .unfinished: writeHead(answer, identifier, on: stream, endStream: false)
        case .reset:
            open[stream] = nil
            write(stream, .rstStream(HTTP2ErrorCode(networkCode: fault.code ?? APNsFault.refusedStream)))
        case .goAway: goAway(fault, answer, identifier, on: stream)
        case .reorder: holdBack(fault, answer, identifier, on: stream)
        case .halfClose:
            isMute = true
            context.map { wire.closeOutput(of: $0.channel) }
        case .headers:
            isMute = true
            wire.beginHeaders(of: Int(stream), every: fault.delay ?? 1)
        case .cutBefore, .cutUnanswered: close()
        case .cutAfter:
            respond(answer, identifier, on: stream)
            close()
        }
    }

    private func goAway(
        _ fault: APNsFault, _ answer: APNsAnswer, _ identifier: String, on stream: HTTP2StreamID
    ) {
        let last = lastStream(of: fault)
        for (id, dropped) in open where id > last { dropped.logged.map(simulation.pushes.withdraw) }
        if !isClosing {
            isClosing = true
            let reason = fault.reason.flatMap { try? JSONEncoder().encode(APNsAnswer.Body(reason: $0)) }
            write(
                .rootStream,
                .goAway(
                    lastStreamID: last, errorCode: HTTP2ErrorCode(networkCode: fault.code ?? 0),
                    opaqueData: reason.map { ByteBuffer(bytes: $0) }))
            open = open.filter { $0.key <= last }
        }
        respond(answer, identifier, on: stream, after: answer.delay)
        closeIfIdle()
    }

    private func holdBack(
        _ fault: APNsFault, _ answer: APNsAnswer, _ identifier: String, on stream: HTTP2StreamID
    ) {
        heldBack.append((stream, answer, identifier))
        if heldBack.count >= fault.count ?? 2 {
            releaseHeldBack()
        } else if heldBack.count == 1 {
            schedule(after: fault.delay ?? 5) { connection in
                if connection.heldBack.first?.0 == stream { connection.releaseHeldBack() }
            }
        }
    }

    private func releaseHeldBack() {
        let answers = heldBack
        heldBack = []
        for (stream, answer, identifier) in answers.reversed() { respond(answer, identifier, on: stream) }
        context?.flush()
    }

    /// Ends what a fault holds back.
    private func release() {
        guard let context else { return }
        releaseHeldBack()
        if isWindowHeld {
            isWindowHeld = false
            setInitialWindow(Self.window)
            grow(by: Self.connectionWindow - Self.window)
            receivedBytes = 0
        }
        if mayUseAllStreams { setStreams(Self.streams) }
        context.flush()
        _ = context.channel.setOption(.autoRead, value: true)
    }
}

/// The bytes of a connection beneath HTTP/2, for what no correct server sends.
final class APNsWire: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private var context: ChannelHandlerContext?
    private var isOccupied = false

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // Between the frames of a header block nothing else may be sent (RFC 9113 §4.3).
        if isOccupied {
            promise?.succeed()
        } else {
            context.write(data, promise: promise)
        }
    }

    /// Sends TCP's FIN beneath TLS.
    func closeOutput(of channel: any Channel) {
        let tls = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
        (tls ?? context)?.close(mode: .output, promise: nil)
    }

    /// Sends HEADERS without END_HEADERS, and CONTINUATION frames for as long as the connection lasts.
    func beginHeaders(of stream: Int, every seconds: Double) {
        isOccupied = true
        // `:status: 200` of HPACK's static table (RFC 7541 appendix A).
        write(frame: 0x1, stream: stream, [0x88])
        drip(on: stream, every: .milliseconds(max(1, Int64(seconds * 1_000))))
    }

    private func drip(on stream: Int, every interval: TimeAmount) {
        context?.eventLoop.assumeIsolated().scheduleTask(in: interval) {
            guard self.context != nil else { return }
            self.write(frame: 0x9, stream: stream, Self.field)
            self.drip(on: stream, every: interval)
        }
    }

    /// `x-drip: 1`, a literal that is not indexed (RFC 7541 §6.2.2).
    private static let field: [UInt8] = [0x00, 0x06] + Array("x-drip".utf8) + [0x01] + Array("1".utf8)

    /// A frame (RFC 9113 §4.1) without flags.
    private func write(frame type: UInt8, stream: Int, _ payload: [UInt8]) {
        var bytes = ByteBuffer()
        bytes.writeBytes([0])
        bytes.writeInteger(UInt16(payload.count))
        bytes.writeInteger(type)
        bytes.writeInteger(UInt8(0))
        bytes.writeInteger(UInt32(stream))
        bytes.writeBytes(payload)
        context?.writeAndFlush(wrapOutboundOut(.byteBuffer(bytes)), promise: nil)
    }
}
