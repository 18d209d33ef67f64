import Foundation
import GatehouseBytes
import GatehouseServiceContracts
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Handles what Hummingbird does not handle in a connection: responses to invalid HTTP (431 and 400 as problems),
/// `Expect: 100-continue`, requests whose body never ends, fields that take long to compare, and closing without losing
/// the response. It records when each request arrived.
final class HTTPConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// How long the rest of a request may take to arrive after its head.
    static let bodyTimeout = TimeAmount.seconds(15)
    /// When a response precedes the end of its request, the rest of the request is read and dropped for this long.
    static let lingerTimeout = TimeAmount.seconds(2)
    /// A field of up to this many bytes is accepted with any text, because comparing it is cheap.
    static let freeFieldLength = 1024

    let arrivals = ArrivalTimes()
    private var machine = HTTPConnectionMachine()
    /// Closes the connection after one of the timeouts.
    private var timer: Scheduled<Void>?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): if machine.isOpen { read(head, context) }
        case .body(let bytes):
            switch machine.receivedBody(bytes.readableBytes) {
            case .forward: context.fireChannelRead(data)
            case .drop: break
            case .close: close(context)
            }
        case .end:
            guard machine.receivedEnd() == .forward else { return }
            timer?.cancel()
            timer = nil
            context.fireChannelRead(data)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if machine.isLingering {
            // The later handlers have ended and no longer read, so this one must.
            context.read()
        } else if machine.awaitsRestOfRequest, timer == nil {
            close(context, after: Self.bodyTimeout)
        }
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        machine.closed()
        timer?.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A caller that closes its half of the connection has given up: Gatehouse's clients never read after that. The
        // channel is closed at once, because it shows a route whether the caller still waits for the response.
        if event as? ChannelEvent == .inputClosed { return close(context) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let refusal = (error as? HTTPParserError).map { error -> ErrorCode in
            error == .headerOverflow ? .headersTooLarge : .invalidRequest
        }
        switch machine.receivedError(refusal) {
        case .forward: context.fireErrorCaught(error)
        case .drop: break
        case .refuse(let code): refuse(code, context)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head):
            if head.headerFields[.connection] == "close" { machine.responseCloses() }
            context.write(data, promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            switch machine.responseEnded() {
            case .none: context.write(data, promise: promise)
            case .close:
                timer?.cancel()
                let written = promise ?? context.eventLoop.makePromise()
                context.writeAndFlush(data, promise: written)
                written.futureResult.assumeIsolated().whenComplete { _ in self.close(context) }
            case .linger: linger(context, after: data, promise: promise)
            case .refuse(let code):
                context.write(data, promise: promise)
                refuse(code, context)
            }
        }
    }

    private func read(_ head: HTTPRequest, _ context: ChannelHandlerContext) {
        var head = head
        if head.headerFields.contains(where: Self.takesLongToCompare) {
            head.headerFields.removeAll(where: Self.takesLongToCompare)
        }
        let expectsContinue =
            head.headerFields[.expect]?.lowercased() == "100-continue" && Self.declaredLength(head) <= BodyLimit.bytes
        let isLast = head.headerFields[.connection]?.lowercased() == "close"
        if machine.receivedHead(expectsContinue: expectsContinue, isLast: isLast) {
            context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
        }
        arrivals.note(.now)
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    private func refuse(_ code: ErrorCode, _ context: ChannelHandlerContext) {
        let (head, body) = Self.answer(Problem(code))
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(body)), promise: nil)
        linger(context, after: wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Ends the response and the output. Closing with unread bytes would reset the connection, and the client might not
    /// see the response. So the guard reads and drops input for a while.
    private func linger(_ context: ChannelHandlerContext, after end: NIOAny, promise: EventLoopPromise<Void>?) {
        timer?.cancel()
        context.writeAndFlush(end, promise: promise)
        context.close(mode: .output, promise: nil)
        context.read()
        close(context, after: Self.lingerTimeout)
    }

    private func close(_ context: ChannelHandlerContext, after timeout: TimeAmount) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { self.close(context) }
    }

    private func close(_ context: ChannelHandlerContext) {
        machine.closed()
        context.close(mode: .all, promise: nil)
    }

    /// Such a field is dropped, because every reader, Hummingbird included, compares it, and that would take long.
    private static func takesLongToCompare(_ field: HTTPField) -> Bool {
        !StreamSafeText.accepts(field.value, anyUpTo: freeFieldLength)
    }

    private static func declaredLength(_ head: HTTPRequest) -> Int {
        head.headerFields[.contentLength].flatMap { Int($0) } ?? 0
    }

    private static func answer(_ problem: Problem) -> (HTTPResponse, ByteBuffer) {
        let requestID = RequestID.make()
        let (fields, body) = ProblemResponse.parts(problem, requestID: requestID)
        var head = HTTPResponse(status: .init(code: problem.code.status), headerFields: fields)
        head.headerFields[.contentLength] = String(body.readableBytes)
        head.headerFields[.connection] = "close"
        head.headerFields[.requestID] = requestID
        return (head, body)
    }
}
