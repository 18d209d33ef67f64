import Foundation
import NIOCore
import NIOHTTP1

/// Answers the one push of an HTTP/2 stream.
final class APNsHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let maximumBodyBytes = 64 << 10

    private let answers: APNsAnswers
    private let log: RequestLog
    private var push: APNsPush?

    init(answers: APNsAnswers, log: RequestLog) {
        self.answers = answers
        self.log = log
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            push = APNsPush(
                method: head.method.rawValue, path: head.uri,
                headers: Dictionary(
                    head.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first }),
                body: [])
        case .body(let bytes):
            guard let count = push?.body.count, count + bytes.readableBytes <= Self.maximumBodyBytes else {
                return context.close(promise: nil)
            }
            push?.body += bytes.readableBytesView
        case .end:
            guard let push else { return }
            answer(push, context: context)
        }
    }

    private func answer(_ push: APNsPush, context: ChannelHandlerContext) {
        let answer =
            push.refusal(now: Int(Date().timeIntervalSince1970)) ?? answers.take(for: push.deviceToken ?? "")
        log.add(
            RequestLog.Entry(
                time: Date(), service: "apns", method: push.method, path: push.path,
                headers: push.headers.filter { $0.key != "authorization" },
                body: String(decoding: push.body, as: UTF8.self), status: answer.status))
        let identifier = push.headers["apns-id"] ?? UUID().uuidString.lowercased()
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(answer.delay * 1_000))) {
            self.write(answer, identifier: identifier, context: context)
        }
    }

    private func write(_ answer: APNsAnswer, identifier: String, context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        let body = answer.body.flatMap { try? JSONEncoder().encode($0) }
        let head = HTTPResponseHead(
            version: .http2, status: HTTPResponseStatus(statusCode: answer.status),
            headers: body == nil
                ? ["apns-id": identifier] : ["apns-id": identifier, "content-type": "application/json"])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if let body { context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
