import Bytes
import Contracts
import Foundation
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
    /// The limits of time and bytes for reading and dropping the rest of a request whose response came before its end.
    static let lingerTimeout = TimeAmount.seconds(2)
    static let lingerLimit = 16 << 20
    /// A field of up to this many bytes is accepted with any text, because comparing it is cheap.
    static let freeFieldLength = 1024

    private enum State {
        case open
        /// The response had `Connection: close`. All further input is dropped.
        case lingering(dropped: Int)
        case closed
    }

    let arrivals = ArrivalTimes()
    private var state = State.open
    private var isRequestIncomplete = false
    private var requestsInProgress = 0
    private var closesAfterResponse = false
    /// The error for the bytes after the requests in progress, which are not valid HTTP. It is answered after those
    /// requests.
    private var pendingError: HTTPParserError?
    private var bodyTimer: Scheduled<Void>?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch state {
        case .open: read(unwrapInboundIn(data), data, context)
        case .lingering(let dropped): drop(unwrapInboundIn(data), dropped, context)
        case .closed: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if case .lingering = state {
            // The later handlers have ended and no longer read, so this one must.
            context.read()
        } else if isRequestIncomplete, bodyTimer == nil {
            bodyTimer = context.eventLoop.assumeIsolated().scheduleTask(in: Self.bodyTimeout) {
                self.close(context)
            }
        }
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        state = .closed
        bodyTimer?.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        bodyTimer?.cancel()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A caller that closes its half of the connection has given up: Gatehouse's clients never read after that. The
        // channel is closed at once, because it shows a route whether the caller still waits for the response.
        if event as? ChannelEvent == .inputClosed { return close(context) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // While lingering, all input is dropped.
        if case .lingering = state { return }
        guard let error = error as? HTTPParserError, case .open = state else {
            return context.fireErrorCaught(error)
        }
        if requestsInProgress == 0 {
            refuse(error, context)
        } else if isRequestIncomplete {
            // The route reads the body, which ends with this error.
            closesAfterResponse = true
            context.fireErrorCaught(error)
        } else {
            pendingError = error
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head):
            if head.headerFields[.connection] == "close" { closesAfterResponse = true }
        case .body: break
        case .end:
            requestsInProgress -= 1
            if closesAfterResponse, requestsInProgress == 0 || isRequestIncomplete {
                return finishAndLinger(context, data, promise: promise)
            }
            if requestsInProgress == 0, let error = pendingError {
                context.write(data, promise: promise)
                return refuse(error, context)
            }
        }
        context.write(data, promise: promise)
    }

    private func read(_ part: HTTPRequestPart, _ data: NIOAny, _ context: ChannelHandlerContext) {
        switch part {
        case .head(var head):
            isRequestIncomplete = true
            if head.headerFields.contains(where: Self.takesLongToCompare) {
                head.headerFields.removeAll(where: Self.takesLongToCompare)
            }
            if head.headerFields[.expect]?.lowercased() == "100-continue", requestsInProgress == 0,
                Self.declaredLength(head) <= BodyLimit.bytes
            {
                context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
            }
            if head.headerFields[.connection]?.lowercased() == "close" { closesAfterResponse = true }
            requestsInProgress += 1
            arrivals.note(.now)
            return context.fireChannelRead(wrapInboundOut(.head(head)))
        case .body: break
        case .end:
            isRequestIncomplete = false
            bodyTimer?.cancel()
            bodyTimer = nil
        }
        context.fireChannelRead(data)
    }

    private func drop(_ part: HTTPRequestPart, _ dropped: Int, _ context: ChannelHandlerContext) {
        guard case .body(let bytes) = part else { return }
        let dropped = dropped + bytes.readableBytes
        state = .lingering(dropped: dropped)
        if dropped > Self.lingerLimit { close(context) }
    }

    private func refuse(_ error: HTTPParserError, _ context: ChannelHandlerContext) {
        let (head, body) = Self.answer(Problem(error == .headerOverflow ? .headersTooLarge : .invalidRequest))
        isRequestIncomplete = true
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(body)), promise: nil)
        finishAndLinger(context, wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Ends the response and the connection. Closing with unread bytes would reset the connection, and the client might
    /// not see the response. So the guard reads and drops input for a while.
    private func finishAndLinger(
        _ context: ChannelHandlerContext, _ end: NIOAny, promise: EventLoopPromise<Void>?
    ) {
        state = .lingering(dropped: 0)
        bodyTimer?.cancel()
        let written = promise ?? context.eventLoop.makePromise()
        context.writeAndFlush(end, promise: written)
        guard isRequestIncomplete else {
            return written.futureResult.assumeIsolated().whenComplete { _ in self.close(context) }
        }
        context.close(mode: .output, promise: nil)
        context.read()
        bodyTimer = context.eventLoop.assumeIsolated().scheduleTask(in: Self.lingerTimeout) {
            self.close(context)
        }
    }

    private func close(_ context: ChannelHandlerContext) {
        state = .closed
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
