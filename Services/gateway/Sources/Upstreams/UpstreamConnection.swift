import Foundation
import GatehouseServiceContracts
import NIOCore

/// A connection to an upstream: sends one request at a time, reads its response, and returns to the pool.
final class UpstreamConnection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let pool: UpstreamPool
    /// When it returned to the pool; nanoseconds of the worker's clock.
    var idleSince: Int64 = 0

    private var context: ChannelHandlerContext?
    private var exchange: Exchange?
    private var state = UpstreamConnectionMachine()
    /// The reader of the current response's body, once its head is read.
    private var body: BodyReader?
    private var input = ByteBuffer()
    private var holdsRead = false
    private var readSize = ReadSize()
    /// Whether a callback will run when the socket has accepted the waiting bytes.
    private var awaitsTaking = false
    private var output = PendingOutput()

    init(pool: UpstreamPool) { self.pool = pool }

    private var worker: Worker { pool.worker }
    var isOpen: Bool { state.phase != .closed && context?.channel.isActive ?? false }
    var isWritable: Bool { context?.channel.isWritable ?? false }

    // MARK: The request

    func begin(_ exchange: Exchange, head: ByteBuffer) {
        self.exchange = exchange
        state.begin()
        write(head)
    }

    func write(_ bytes: ByteBuffer) {
        if let before = output.add(bytes) { context?.write(wrapOutboundOut(before), promise: nil) }
    }

    func writeChunk(_ bytes: ByteBuffer) { bytes.asChunk(write) }

    func writeLastChunk(_ trailers: ByteBuffer?) { write(.lastChunk(trailers)) }

    func flush() {
        guard let bytes = output.take() else { return }
        context?.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    /// Bytes that the socket has not accepted yet. The exchange is notified when it has.
    func watchUnsentBytes() -> Int {
        guard let context else { return 0 }
        let waiting = context.channel.waitingBytes
        guard waiting > 0, !awaitsTaking else { return waiting }
        awaitsTaking = true
        context.whenTaken {
            self.awaitsTaking = false
            self.exchange?.upstreamIsWritable()
        }
        return context.channel.waitingBytes
    }

    /// Resets the connection in the middle of an exchange. Closing it would keep its port in use for a minute
    /// (TIME_WAIT), so clients that abort could use up all ports to an address. A WebSocket with unsent bytes is closed
    /// instead.
    func abandon() {
        exchange = nil
        if let channel = context?.channel, let socket = channel as? any SocketOptionProvider,
            state.phase != .tunnel || (channel.waitingBytes == 0 && channel.hasDelivered)
        {
            _ = socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        }
        close()
    }

    /// Ends a WebSocket while the other side may still be reading.
    ///
    /// - Parameter last: written before the connection is closed.
    func leave(after last: ByteBuffer?) {
        exchange = nil
        if let last { write(last) }
        flush()
        close()
    }

    /// The exchange no longer needs the connection.
    func release() { pool.release(self) }

    func close() {
        state.close()
        context?.close(promise: nil)
    }

    // MARK: Channel

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if input.readableBytes == 0 { input = bytes } else { input.writeBuffer(&bytes) }
        process()
        input.releaseIfEmpty()
    }

    func channelReadComplete(context: ChannelHandlerContext) { exchange?.flushClient() }

    func read(context: ChannelHandlerContext) {
        switch state.phase {
        case .body, .tunnel:
            if let exchange, !exchange.clientAcceptsBody { holdsRead = true } else { readMore(context) }
        case .idle, .head, .closed: context.read()
        }
    }

    private func readMore(_ context: ChannelHandlerContext) {
        readSize.adapt(context.channel, to: worker.output)
        context.read()
    }

    func resumeReading() {
        guard holdsRead, let context else { return }
        holdsRead = false
        readMore(context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable, let exchange else { return }
        exchange.upstreamIsWritable()
    }

    func channelInactive(context: ChannelHandlerContext) {
        let atEnd = state.ended(
            bodyEndsWithConnection: body?.endsWithConnection ?? false, hasInput: input.readableBytes > 0,
            isIdempotent: exchange.map { MethodSet.idempotent.contains($0.method) } ?? true)
        if state.isDetached { pool.streamClosed() } else { pool.lost(self) }
        guard let exchange = exchange.take() else { return }
        switch atEnd {
        case .responseEnded: exchange.receiveEnd(trailers: nil)
        case .tunnelEnded: exchange.tunnelEnded()
        case .failed(let retry): exchange.failed(.cut, retry)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        state.cut()
        context.close(promise: nil)
    }

    // MARK: The response

    private func process() {
        while true {
            switch state.phase {
            case .closed:
                input.clear()
                return
            case .idle:
                // The upstream sent bytes without a request.
                if input.readableBytes > 0 { close() }
                return
            case .head:
                guard readHead() else { return }
            case .body:
                guard readBody() else { return }
            case .tunnel:
                relay()
                return
            }
        }
    }

    private enum HeadOutcome {
        case incomplete
        case interim(length: Int)
        case final(length: Int, BodyFraming, connectionOptions: [[UInt8]])
        case upgraded(length: Int)
        /// The WebSockets and event streams are at their limit.
        case tooManyStreams
        case fault
    }

    /// - Returns: whether there may be more to do.
    private func readHead() -> Bool {
        guard input.readableBytes > 0, let exchange else { return false }
        let outcome = input.withUnsafeReadableBytes { bytes in
            do throws(HeadFault) {
                guard let length = try worker.responseHead.scan(bytes) else { return HeadOutcome.incomplete }
                let status = worker.responseHead.status
                let head = UnsafeRawBufferPointer(rebasing: bytes[..<length])
                if status == 101 {
                    let isAsked =
                        exchange.request.upgrades && worker.responseHead.fields.upgradesToWebSocket(in: head)
                    guard isAsked else { return .fault }
                    return exchange.upgrade(worker.responseHead, head) ? .upgraded(length: length) : .tooManyStreams
                }
                if status < 200 { return .interim(length: length) }
                guard let framing = exchange.receiveHead(worker.responseHead, head) else { return .tooManyStreams }
                return .final(
                    length: length, framing,
                    connectionOptions: worker.responseHead.fields.connectionOptions(in: head))
            } catch {
                return .fault
            }
        }
        switch outcome {
        case .incomplete: return false
        case .interim(let length):
            input.moveReaderIndex(forwardBy: length)
            guard state.receivedInterim() else { return fail() }
        case .final(let length, let framing, let connectionOptions):
            input.moveReaderIndex(forwardBy: length)
            if exchange.isStatusFaultOfAddress {
                pool.failed(.errorStatus, now: worker.now)
            } else {
                pool.responded()
            }
            body = BodyReader(framing, connectionOptions: connectionOptions)
            let isEventStream = exchange.state.isStream
            state.responseBegan(
                keepsAlive: worker.responseHead.keepsAlive && framing != .untilClose, isEventStream: isEventStream)
            if isEventStream { leaveForStream() }
        case .upgraded(let length):
            input.moveReaderIndex(forwardBy: length)
            pool.responded()
            state.tunnelBegan()
            leaveForStream()
            exchange.upgraded()
        case .tooManyStreams:
            pool.responded()
            exchange.refuse(Problem(.unavailable))
            return false
        case .fault: return fail()
        }
        return true
    }

    /// Counts the connection among the streams, and frees its slot in the pool.
    private func leaveForStream() {
        pool.streamOpened()
        pool.freeSlot()
    }

    private func relay() {
        guard let exchange, input.readableBytes > 0 else { return }
        let bytes = input
        input = ByteBuffer()
        exchange.receiveBody(bytes)
    }

    private func readBody() -> Bool {
        guard let exchange else { return false }
        let part: BodyReader.Part?
        do throws(HeadFault) {
            part = try body?.next(from: &input)
        } catch {
            return fail()
        }
        switch part {
        case nil: return false
        case .data(let bytes):
            exchange.receiveBody(bytes)
            return true
        case .end(let trailers):
            endReceiving(for: exchange, trailers: trailers)
            return false
        }
    }

    private func endReceiving(for exchange: Exchange, trailers: ByteBuffer?) {
        self.exchange = nil
        body = nil
        let isKept = state.responseEnded(
            isRequestComplete: exchange.state.isRequestComplete, hasInput: input.readableBytes > 0)
        // The response is complete, so the rest of the request is not sent.
        if isKept { release() } else if exchange.state.isRequestComplete { close() } else { abandon() }
        exchange.receiveEnd(trailers: trailers)
    }

    private func fail() -> Bool {
        let exchange = exchange
        abandon()
        exchange?.failed(.garbage, .never)
        return false
    }
}

/// Why a connection to an upstream's address could not be made.
enum ConnectFailure: Error, Equatable {
    /// No process listens at the address.
    case refused
    case unreachable
    /// This process had no port, descriptor or memory for the connection: the address is not at fault.
    case exhausted

    init(_ error: any Error) {
        self =
            switch (error as? IOError)?.errnoCode {
            case ECONNREFUSED: .refused
            case EADDRNOTAVAIL, EADDRINUSE, EMFILE, ENFILE, ENOBUFS, ENOMEM: .exhausted
            default: .unreachable
            }
    }

    /// The failure of the request that was to be sent on the connection.
    var ofRequest: ExchangeMachine.Failure { self == .exhausted ? .exhausted : .unreachable }
}
