import NIOCore

/// Reads one answer to a request without a body, to its end, and keeps nothing of it but its status.
final class AnswerReader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// What came is no answer, too much of one, or only a part.
    struct NoAnswer: Error {}

    private static let maximumBytes = 1 << 16

    private let answered: EventLoopPromise<Int>
    private var input = ByteBuffer()
    private var received = 0
    private var head = ResponseHead()
    private var body: BodyReader?

    init(_ answered: EventLoopPromise<Int>) { self.answered = answered }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        received += bytes.readableBytes
        guard received <= Self.maximumBytes else { return answered.fail(NoAnswer()) }
        input.writeBuffer(&bytes)
        do {
            if try readsToEnd() { answered.succeed(head.status) }
        } catch {
            answered.fail(error)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if body?.endsWithConnection == true { answered.succeed(head.status) } else { answered.fail(NoAnswer()) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { answered.fail(error) }

    private func readsToEnd() throws -> Bool {
        while body == nil {
            guard let length = try input.withUnsafeReadableBytes({ try head.scan($0) }) else { return false }
            input.moveReaderIndex(forwardBy: length)
            guard head.status != 101 else { throw NoAnswer() }
            // Others below 200 come before the answer.
            if head.status >= 200 { body = BodyReader(head.framing(toHead: false)) }
        }
        while let part = try body?.next(from: &input) {
            if case .end = part { return true }
        }
        return false
    }
}
