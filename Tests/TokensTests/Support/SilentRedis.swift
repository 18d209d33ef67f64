import NIOCore
import Redis
import Synchronization
import TestKit

/// A Redis that answers what a new connection asks and what it is told to answer, by `+OK`, and is silent on all else.
final class SilentRedis: Sendable {
    let configuration: RedisConfiguration
    private let received: Received

    fileprivate init(port: Int, received: Received) throws {
        configuration = try .patient("redis://127.0.0.1:\(port)")
        self.received = received
    }

    /// The names of the commands it was sent, but for those of a new connection.
    var commands: [String] { received.names.withLock { $0 } }

    fileprivate final class Received: Sendable {
        let names = Mutex<[String]>([])
    }
}

func withSilentRedis(
    answering answered: Set<String>, _ body: (SilentRedis) async throws -> Void
) async throws {
    let received = SilentRedis.Received()
    try await withTCPServer(
        onAccept: {
            try $0.pipeline.syncOperations.addHandler(CommandHandler(answered: answered, received: received))
        }
    ) { port in
        try await body(SilentRedis(port: port, received: received))
    }
}

/// Reads commands as arrays of strings that hold no line break of RESP's own.
private final class CommandHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Of `INFO` an empty section: no replica, no cluster.
    private static let handshake = ["PING": "+PONG\r\n", "INFO": "$0\r\n\r\n"]

    private let answered: Set<String>
    private let received: SilentRedis.Received
    private var unread = ""

    init(answered: Set<String>, received: SilentRedis.Received) {
        self.answered = answered
        self.received = received
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        unread += String(buffer: unwrapInboundIn(data))
        while let name = nextCommand() {
            if let answer = Self.handshake[name] {
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
                continue
            }
            received.names.withLock { $0.append(name) }
            guard answered.contains(name) else { continue }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "+OK\r\n")), promise: nil)
        }
    }

    /// `*2`, `$3`, `GET`, `$1`, `a`: two lines for each word.
    private func nextCommand() -> String? {
        var lines = unread.split(separator: "\r\n", omittingEmptySubsequences: false)
        guard let head = lines.first, let words = Int(head.dropFirst()), lines.count > 1 + 2 * words else { return nil }
        let name = String(lines[2])
        lines.removeFirst(1 + 2 * words)
        unread = lines.joined(separator: "\r\n")
        return name
    }
}
