public import AsyncHTTPClient
public import GatehouseLimits
public import NIOCore
public import NIOHTTP1

extension HTTPClient {
    /// Sends a request and reads the whole answer before `deadline`.
    ///
    /// AsyncHTTPClient's own deadlines end with the head of the response. After the head, a response may stall,
    /// trickle, or consist of bytes outside the body, and a caller that only collects the body would wait forever.
    /// When the deadline passes, or the task is cancelled, the connection is closed.
    ///
    /// - Parameter limit: the most bytes of the body.
    /// - Throws: `HTTPClientError.deadlineExceeded`; `NIOTooManyBytesError`, for a longer body;
    ///   ``AnswerOverheadExceeded``, with ``AsyncHTTPClient/HTTPClient/Configuration/gatehouse()``;
    ///   `CancellationError`; other errors of the connection.
    public func exchange(
        _ request: HTTPClientRequest, upTo limit: Int, before deadline: Deadline
    ) async throws -> WholeAnswer {
        guard !deadline.hasPassed else { throw HTTPClientError.deadlineExceeded }
        return try await withThrowingTaskGroup(of: WholeAnswer.self) { group in
            group.addTask {
                let response = try await self.execute(request, deadline: .distantFuture)
                let body = try await response.body.collect(upTo: limit)
                // A body that the end of the task cut off may look complete.
                try _Concurrency.Task.checkCancellation()
                return WholeAnswer(status: Int(response.status.code), headers: response.headers, body: body)
            }
            group.addTask {
                try await _Concurrency.Task.sleep(until: deadline.instant, clock: .continuous)
                throw HTTPClientError.deadlineExceeded
            }
            defer { group.cancelAll() }
            return try await group.next()!
        }
    }
}

/// A complete response.
public struct WholeAnswer: Sendable {
    public var status: Int
    public var headers: HTTPHeaders
    public var body: ByteBuffer
}

extension HTTPClient.Configuration {
    /// For calls between services and to Apple: no redirects, and an unreachable callee is detected within a second.
    public static func gatehouse() -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, timeout: .init(connect: .seconds(1)), decompression: .disabled)
        // So a request never uses a connection that the callee is closing.
        configuration.connectionPool.idleTimeout = TimeAmount(Draining.longestIdle)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        // The caller decides about retries, because it knows other replicas.
        configuration.connectionPool.retryConnectionEstablishment = false
        // `exchange(_:with:upTo:before:)` records a call, without its URL, and does not send the trace to a third
        // party.
        configuration.tracing.tracer = nil
        configuration.limitOverhead()
        return configuration
    }
}

/// A response has far more bytes than its body, for example endless chunk extensions.
public struct AnswerOverheadExceeded: Error {}

extension HTTPClient.Configuration {
    /// Closes HTTP/1.1 connections whose responses are mostly overhead.
    mutating func limitOverhead() {
        http1_1ConnectionDebugInitializer = { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                let count = AnswerBytes()
                let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
                try pipeline.addHandler(SocketBytes(count), position: .first)
                try pipeline.addHandler(BodyBytes(count), position: .after(decoder))
            }
        }
    }
}

/// The bytes of the current response on one connection. Only the connection's event loop uses it.
private final class AnswerBytes {
    /// Bytes for the head and the trailers.
    private static let allowance = 256 * 1024
    /// The allowed bytes on the wire for each byte of a body.
    private static let perByte = 8

    /// Bytes read from the socket.
    var all = 0
    var body = 0

    var isExceeded: Bool { all > Self.allowance + Self.perByte * body }
}

/// Counts bytes at the socket. Each request restarts the count.
private final class SocketBytes: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private let count: AnswerBytes

    init(_ count: AnswerBytes) { self.count = count }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        (count.all, count.body) = (0, 0)
        context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count.all += unwrapInboundIn(data).readableBytes
        context.fireChannelRead(data)
        guard count.isExceeded else { return }
        context.fireErrorCaught(AnswerOverheadExceeded())
        context.close(promise: nil)
    }
}

/// Counts bytes of the body, behind the decoder.
private final class BodyBytes: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let count: AnswerBytes

    init(_ count: AnswerBytes) { self.count = count }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .body(let bytes) = unwrapInboundIn(data) { count.body += bytes.readableBytes }
        context.fireChannelRead(data)
    }
}
