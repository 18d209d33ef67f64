import GatehouseBytes
import GatehouseServiceContracts
import Logging
import NIOCore

/// One forwarded request, from its admission to the end of its response. It connects a client's connection and an
/// upstream's on the same event loop.
final class Exchange {
    /// If a request has waited longer than this, the upstream receives the time that it waited here; nanoseconds.
    private static let noteworthyWait: Int64 = 100_000_000

    let client: ClientConnection
    let routeState: RouteState
    private(set) var request: AdmittedRequest
    /// The beginning of the body, until an upstream takes it.
    private(set) var buffered = ByteBuffer()
    /// Whether `buffered` is the whole body, and the trailers that follow it.
    private var bufferedEnd: (isThere: Bool, trailers: ByteBuffer?) = (false, nil)
    /// Bytes of the body that the upstream's socket had not accepted at the last check.
    private var unsent = 0
    /// The length without the lines that are added when the head is sent.
    private let headLength: Int
    var state: ExchangeMachine
    /// The pool from which the exchange waits for a connection.
    private(set) var pool: UpstreamPool?
    var upstreamConnection: UpstreamConnection?
    var responseBytes = 0
    var status = 0
    /// When the request was forwarded to the upstream; nanoseconds of the worker's clock.
    private var sentAt: Int64 = 0
    /// From then to the head of the response.
    private var upstreamTime: Int64?
    /// Why the gateway responds instead of the upstream, or cuts its response.
    var refusal: String?
    /// From the request's head to the first time it was forwarded, nanoseconds; `nil` where its trace is not recorded.
    private(set) var sentAfter: Int64?
    /// The number of retries, where the request's trace is recorded.
    private(set) var resends = 0
    /// Whether the response goes out in chunks.
    private var writesChunks = false
    var tunnel = Tunnel()
    /// `nil`: the exchange is a stream and counts among the streams.
    var permit: RequestPermits.Permit?
    /// Its permit as a stream.
    private var streamPermit: StreamPermits.Permit?
    /// Its permit of the route's queue.
    var queuePermit: QueuePermit?
    /// Whether the worker ends it when its token is no longer valid.
    private var isWatched = false

    /// - Parameter permit: of a request in flight; the exchange releases it.
    init(client: ClientConnection, routeState: RouteState, request: AdmittedRequest, permit: RequestPermits.Permit?) {
        self.permit = permit
        self.client = client
        self.routeState = routeState
        self.request = request
        headLength = request.head.readableBytes
        state = ExchangeMachine(
            hasBody: request.framing != .length(0),
            bufferingTime: routeState.route.buffersBodies ? client.worker.clientTimes.buffering : nil,
            buffersWholeBody: routeState.route.hasQueue, bodyLimit: routeState.route.bodyLimit,
            timeout: routeState.timeout, arrivedAt: request.arrivedAt)
    }

    var method: RequestMethod { request.method }
    var clientKey: AddressKey { request.clientAddress.key }
    var framing: BodyFraming { request.framing }
    var bodyReader: BodyReader { BodyReader(framing, connectionOptions: request.connectionOptions) }
    var worker: Worker { client.worker }
    /// Whether the request may probe an address that may not respond. Its method is safe and it has no body, so it can
    /// be sent to another address afterwards.
    var mayProbe: Bool { MethodSet.safe.contains(method) && !state.hasBody && !request.opensStream }

    var hasOneAddress: Bool { routeState.balancer?.count == 1 }

    func releasePermits() {
        if let permit = permit.take() { worker.gateway.permits.release(permit) }
        if let permit = streamPermit.take() { worker.gateway.streams.release(permit) }
        releaseQueuePermit()
    }

    /// A stream exchanges its permit of a request in flight for one of a stream.
    ///
    /// - Returns: `false` where the client has as many streams as it may.
    private func becomeStream() -> Bool {
        guard let streamPermit = worker.gateway.streams.take(for: clientKey) else { return false }
        self.streamPermit = streamPermit
        if let permit = permit.take() { worker.gateway.permits.release(permit) }
        return true
    }

    // MARK: To the upstream

    /// Waits for the beginning of the body, or goes on at once.
    func begin() {
        guard state.phase == .buffering else { return proceed() }
        client.bodyMayFlow(afterContinue: request.expectsContinue)
    }

    /// Continues, because enough of the body has arrived.
    func endBuffering() {
        client.allow(until: state.deadline)
        proceed()
    }

    private func proceed() { if routeState.route.hasQueue { passQueue() } else { start() } }

    func start() {
        let isRetry = state.beginAttempt()
        if request.serverSpan != 0 { noteSending(isRetry: isRetry) }
        if isRetry { client.allow(until: state.deadline) } else { routeState.balancer?.countRequest() }
        guard let pool = routeState.balancer?.choose(for: self, isRetry: isRetry, now: worker.now) else {
            return failed(.unreachable, .never)
        }
        self.pool = pool
        state.choose(isProbe: pool.probe === self)
        pool.lease(for: self, isRetry: isRetry)
    }

    private func noteSending(isRetry: Bool) {
        if isRetry { resends += 1 } else { sentAfter = worker.now - request.startedAt }
    }

    func connected(_ connection: UpstreamConnection) {
        guard state.phase == .connecting else { return connection.release() }
        upstreamConnection = connection
        request.head.moveWriterIndex(to: headLength)
        let now = worker.now
        sentAt = now
        let until = state.connected(at: now)
        if state.isProbe { client.allow(until: until) }
        let (left, waited) = (max(1, (state.deadline - now) / 1_000_000), now - request.arrivedAt)
        request.head.write(atMost: ForwardedRequestHead.roomForTimes) { writer in
            writer.write("Gatehouse-Deadline-Ms: ")
            writer.write(decimal: Int(left))
            if waited >= Self.noteworthyWait {
                writer.write("\r\nGatehouse-Waited-Ms: ")
                writer.write(decimal: Int(waited / 1_000_000))
            }
            writer.write("\r\n\r\n")
        }
        connection.begin(self, head: request.head)
        if state.hasBody {
            sendBuffered()
            client.bodyMayFlow(afterContinue: request.expectsContinue && !routeState.route.buffersBodies)
            client.flushBothWays()
        } else {
            connection.flush()
        }
    }

    /// Whether a part of the body can be taken now.
    var upstreamAcceptsBody: Bool {
        guard state.phase != .buffering else { return true }
        guard let upstreamConnection, upstreamConnection.isWritable else { return false }
        return unsent == 0 || unsent < worker.requestBodies.allowance
    }

    func send(_ bytes: ByteBuffer) {
        guard state.countBody(bytes.readableBytes) else { return refuse(Problem(.payloadTooLarge)) }
        let longest = worker.gateway.settings.longestTime(ofBody: state.bodyBytes)
        state.extend(latest: request.startedAt + longest, at: worker.now)
        if state.phase == .waitingForResponse { client.allow(until: state.deadline) }
        guard state.phase == .buffering else { return write(bytes) }
        if buffered.readableBytes == 0 { buffered = bytes } else { buffered.writeImmutableBuffer(bytes) }
        let isWhole = framing.length == state.bodyBytes
        switch state.buffering(buffered.readableBytes, of: worker.requestBodies.allowance, isWhole: isWhole) {
        case .continues: break
        case .ends: endBuffering()
        case .exceedsMemory: refuse(Problem(.unavailable), reason: "body memory")
        }
    }

    func sendEnd(trailers: ByteBuffer?) {
        guard state.phase == .buffering else { return writeEnd(trailers) }
        bufferedEnd = (true, trailers)
        endBuffering()
    }

    private func write(_ bytes: ByteBuffer) {
        state.bodySent()
        if framing == .chunked { upstreamConnection?.writeChunk(bytes) } else { upstreamConnection?.write(bytes) }
    }

    private func writeEnd(_ trailers: ByteBuffer?) {
        state.requestEnded()
        if framing == .chunked { upstreamConnection?.writeLastChunk(trailers) }
    }

    private func sendBuffered() {
        if buffered.readableBytes > 0 {
            let bytes = buffered
            buffered = ByteBuffer()
            write(bytes)
        }
        if bufferedEnd.isThere { writeEnd(bufferedEnd.trailers) }
    }

    /// - Returns: bytes of the body that are buffered, or wait in the upstream's socket.
    func measureBody() -> Int {
        unsent = upstreamConnection?.watchUnsentBytes() ?? 0
        // A slice keeps the memory of the whole read that it is part of.
        if buffered.storageCapacity > 2 * buffered.readableBytes + BufferBudget.least {
            buffered = ByteBuffer(bytes: buffered.readableBytesView)
        }
        return buffered.readableBytes + unsent
    }

    func flushUpstream() { upstreamConnection?.flush() }

    func upstreamIsWritable() {
        client.bodyMayFlow(afterContinue: false)
        client.flushBothWays()
    }

    // MARK: From the upstream

    /// - Returns: the framing of the body that follows; `nil` where the body is an event stream, and the streams are at
    ///   their limit.
    func receiveHead(_ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer) -> BodyFraming? {
        let framing = head.framing(toHead: method == .head)
        let isEventStream = (framing == .chunked || framing == .untilClose) && head.fields.isEventStream(in: bytes)
        if isEventStream, !becomeStream() { return nil }
        state.responseBegan(isEventStream: isEventStream)
        status = head.status
        let elapsed = worker.now - sentAt
        upstreamTime = elapsed
        routeState.metrics.recordUpstream(nanoseconds: elapsed)
        writesChunks = framing == .chunked || framing == .untilClose
        let forwarded = ForwardedResponseHead(
            requestID: request.requestID, isToHead: method == .head, closes: client.decideToClose(),
            date: head.fields.hasDate(in: bytes) ? [] : worker.dateLine, cors: request.cors)
        client.write(forwarded.write(head, bytes))
        if (400..<500).contains(status) { countRejection() }
        if isEventStream {
            endWithToken()
            record()
        }
        client.extendStream()
        return framing
    }

    func countRejection() {
        guard request.countsRejections else { return }
        _ = worker.gateway.rejectionLimiter?.take(clientKey, now: worker.now)
    }

    /// The upstream switches to WebSocket, as the client requested.
    ///
    /// - Returns: `false` where the streams are at their limit.
    func upgrade(_ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard becomeStream() else { return false }
        state.tunnelBegan()
        status = head.status
        let forwarded = ForwardedResponseHead(
            requestID: request.requestID, isToHead: false, closes: false, date: worker.dateLine)
        client.write(forwarded.write(head, bytes))
        endWithToken()
        record()
        return true
    }

    func upgraded() {
        client.extendStream()
        client.beginTunnel()
        flushUpstream()
    }

    private func endWithToken() {
        guard request.identity != nil, !routeState.route.outlivesToken else { return }
        isWatched = true
        worker.streams[ObjectIdentifier(self)] = self
    }

    /// - Parameter now: seconds since 1970.
    func endUnlessAccepted(now: Int64) {
        guard let identity = request.identity, let reason = worker.bearers.endOfStream(with: identity, now: now)
        else { return }
        note(refusal: reason)
        drop()
        client.abort()
    }

    func receiveBody(_ bytes: ByteBuffer) {
        responseBytes += bytes.readableBytes
        if state.isTunnel { bytes.withUnsafeReadableBytes { tunnel.fromUpstream.note($0) } }
        if writesChunks { bytes.asChunk(client.write) } else { client.write(bytes) }
        client.extendStream()
    }

    func flushClient() { client.flush() }

    var clientAcceptsBody: Bool { client.takesResponse }

    func clientIsWritable() { if clientAcceptsBody { upstreamConnection?.resumeReading() } }

    /// The response is complete and the upstream's connection has been released.
    func receiveEnd(trailers: ByteBuffer?) {
        upstreamConnection = nil
        if writesChunks { client.write(.lastChunk(trailers)) }
        end()
        client.responseEnded()
    }

    func end() {
        if isWatched { worker.streams[ObjectIdentifier(self)] = nil }
        state.ended()
        // A stream was recorded when it began.
        if state.isTunnel {
            logTunnelEnd()
        } else if !state.isStream {
            record()
        }
    }

    /// Records the request in the metrics and the access log.
    private func record() {
        let duration = worker.now - request.startedAt
        routeState.metrics.record(method: method, status: status, nanoseconds: duration)
        let isRecorded = request.serverSpan != 0
        if isRecorded { offerSpans(nanoseconds: duration) }
        let line = worker.logAccess(
            always: status >= 500 || isRecorded,
            AccessLine(
                requestID: request.requestID, method: method.description, path: request.path,
                client: request.clientAddress,
                isHTTP2: client.peer.isHTTP2, route: routeState.route.name, status: status, nanoseconds: duration,
                upstreamNanoseconds: upstreamTime, bytesIn: state.bodyBytes, bytesOut: responseBytes, refusal: refusal,
                traceID: request.trace.traceID, spanID: isRecorded ? Hexadecimal.string(request.serverSpan) : nil))
        if state.isTunnel { tunnel.beginning = line }
    }

    /// Logs the end of a WebSocket whose beginning was logged.
    private func logTunnelEnd() {
        guard var line = tunnel.beginning.take() else { return }
        line.nanoseconds = worker.now - request.startedAt
        (line.bytesIn, line.bytesOut, line.refusal) = (tunnel.bytesIn, responseBytes, refusal)
        worker.gateway.logger.info("WebSocket ended", metadata: line.metadata)
    }
}

/// The bytes and the access-log line of an exchange's WebSocket.
struct Tunnel {
    /// Bytes from the client.
    var bytesIn = 0
    var fromClient = WebSocketFrames()
    var fromUpstream = WebSocketFrames()
    /// The access-log line of its beginning; `nil`: it was not written.
    var beginning: AccessLine?
}

/// Bytes of a WebSocket, in the protocol that client and upstream agreed on.
extension Exchange {
    func relay(_ bytes: ByteBuffer) {
        tunnel.bytesIn += bytes.readableBytes
        bytes.withUnsafeReadableBytes { tunnel.fromClient.note($0) }
        upstreamConnection?.write(bytes)
        client.extendStream()
    }

    /// The upstream has closed its side.
    func tunnelEnded() {
        upstreamConnection = nil
        end()
        client.tunnelEnded()
    }

    /// Ends the WebSocket because the gateway shuts down, with a Close frame for both sides. If the upstream is in the
    /// middle of a frame, the WebSocket continues until the next call.
    func goAway() {
        guard state.isTunnel, tunnel.fromUpstream.isAtBoundary else { return }
        note(refusal: "shutdown")
        let connection = upstreamConnection
        upstreamConnection = nil
        let mask = UInt32(truncatingIfNeeded: worker.random.next())
        connection?.leave(
            after: tunnel.fromClient.isAtBoundary ? ByteBuffer(bytes: WebSocketFrames.goingAway(mask: mask)) : nil)
        end()
        client.write(ByteBuffer(bytes: WebSocketFrames.goingAway(mask: nil)))
        client.tunnelEnded()
    }
}
