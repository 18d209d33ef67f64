public import AsyncHTTPClient
public import NIOCore
public import NIOHTTP1

extension HTTPClient {
    /// Sends a request and reads the whole answer, all of it before `deadline`.
    ///
    /// AsyncHTTPClient's own deadlines end with the answer's head. Behind it an answer may stall, drip, or hold bytes
    /// that are no body: whoever merely collects the body waits for ever.
    /// When the deadline passes, or the task is cancelled, the connection is closed.
    ///
    /// - Parameter limit: bytes of the body at most.
    /// - Throws: `HTTPClientError.deadlineExceeded`; `NIOTooManyBytesError`, for a longer body;
    ///   ``AnswerOverheadExceeded``, with ``AsyncHTTPClient/HTTPClient/Configuration/gatehouse()``; `CancellationError`;
    ///   whatever else the connection brings.
    public func exchange(
        _ request: HTTPClientRequest, upTo limit: Int, before deadline: Deadline
    ) async throws -> WholeAnswer {
        guard !deadline.hasPassed else { throw HTTPClientError.deadlineExceeded }
        return try await withThrowingTaskGroup(of: WholeAnswer.self) { group in
            group.addTask {
                let response = try await self.execute(request, deadline: .distantFuture)
                let body = try await response.body.collect(upTo: limit)
                // A body that was cut off by the end of the task may look like a whole one.
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

/// An answer of which everything has come.
public struct WholeAnswer: Sendable {
    public var status: Int
    public var headers: HTTPHeaders
    public var body: ByteBuffer
}

extension HTTPClient.Configuration {
    /// For calls between services and to Apple: no redirects, and a callee that is away is known within a second.
    public static func gatehouse() -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, timeout: .init(connect: .seconds(1)), decompression: .disabled)
        // A request never meets a connection that is being closed.
        configuration.connectionPool.idleTimeout = TimeAmount(Draining.longestIdle)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        // Whether to try again is decided by the caller, who knows another replica.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.limitOverhead()
        return configuration
    }
}

/// An answer has far more bytes than its body accounts for: endless chunk extensions, for example.
public struct AnswerOverheadExceeded: Error {}

extension HTTPClient.Configuration {
    /// Has connections of HTTP/1.1 closed whose answers are mostly overhead.
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

/// Bytes of the present answer on one connection. Only the connection's event loop touches it.
private final class AnswerBytes {
    /// For a head and for trailers.
    private static let allowance = 256 * 1024
    /// Bytes that each byte of a body may have on its way.
    private static let perByte = 8

    /// That came from the socket.
    var all = 0
    var body = 0

    var isExceeded: Bool { all > Self.allowance + Self.perByte * body }
}

/// Stands at the socket. Each request begins the count anew.
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

/// Stands behind the decoder.
private final class BodyBytes: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let count: AnswerBytes

    init(_ count: AnswerBytes) { self.count = count }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .body(let bytes) = unwrapInboundIn(data) { count.body += bytes.readableBytes }
        context.fireChannelRead(data)
    }
}
