import Foundation
import NIOCore
import NIOPosix

/// A well-behaved client: one request after the other on one connection, and a moment's pause where it was told that
/// there is too much to do.
final class GoodClient: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let pause = TimeAmount.milliseconds(20)
    private let request: ByteBuffer
    private let tally: Tally
    private let load: Load
    private var answer = ByteBuffer()
    private var sentAt = NIODeadline.now()
    private var awaits = false

    init(_ request: String, tally: Tally, load: Load) {
        self.request = ByteBuffer(string: request)
        self.tally = tally
        self.load = load
    }

    /// Runs until the load ends or the connection does.
    static func run(_ request: String, port: Int, tally: Tally, load: Load) async throws {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(GoodClient(request, tally: tally, load: load))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        try await channel.closeFuture.get()
    }

    func channelActive(context: ChannelHandlerContext) { send(context) }

    private func send(_ context: ChannelHandlerContext) {
        guard load.goesOn else { return context.close(promise: nil) }
        awaits = true
        sentAt = .now()
        context.writeAndFlush(wrapOutboundOut(request), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        answer.writeBuffer(&bytes)
        guard let outcome = takeAnswer() else { return }
        awaits = false
        tally.count(outcome, after: .now() - sentAt)
        guard outcome != "200" else { return send(context) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: Self.pause) { bound.value.0.send(bound.value.1) }
    }

    /// The status, with the problem's code where there is one; `nil` while the answer is not whole.
    private func takeAnswer() -> String? {
        let text = String(buffer: answer)
        guard let head = text.range(of: "\r\n\r\n") else { return nil }
        let length = text[..<head.lowerBound].lowercased().split(separator: "\r\n")
            .first { $0.hasPrefix("content-length: ") }.flatMap { Int($0.dropFirst("content-length: ".count)) }
        let body = text[head.upperBound...]
        guard body.utf8.count >= length ?? 0 else { return nil }
        answer.clear()
        let status = String(text.dropFirst("HTTP/1.1 ".count).prefix(3))
        return status == "503" && body.contains("\"UNAVAILABLE\"") ? "503 UNAVAILABLE" : status
    }

    func channelInactive(context: ChannelHandlerContext) {
        if awaits { tally.count("cut") }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
