import NIOCore

/// Reads one complete response to a request without a body, and keeps only its status.
final class StatusReader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// The bytes are not a response, too large, or incomplete.
    struct NoResponse: Error {}

    private static let maximumBytes = 1 << 16

    private let status: EventLoopPromise<Int>
    private var input = ByteBuffer()
    private var received = 0
    private var head = ResponseHead()
    private var body: BodyReader?

    init(_ status: EventLoopPromise<Int>) { self.status = status }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        received += bytes.readableBytes
        guard received <= Self.maximumBytes else { return status.fail(NoResponse()) }
        input.writeBuffer(&bytes)
        do {
            if try readsToEnd() { status.succeed(head.status) }
        } catch {
            status.fail(error)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if body?.endsWithConnection == true { status.succeed(head.status) } else { status.fail(NoResponse()) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { status.fail(error) }

    private func readsToEnd() throws -> Bool {
        while body == nil {
            guard let length = try input.withUnsafeReadableBytes({ try head.scan($0) }) else { return false }
            input.moveReaderIndex(forwardBy: length)
            guard head.status != 101 else { throw NoResponse() }
            // Other 1xx responses precede the final response.
            if head.status >= 200 { body = BodyReader(head.framing(toHead: false)) }
        }
        while let part = try body?.next(from: &input) {
            if case .end = part { return true }
        }
        return false
    }
}
