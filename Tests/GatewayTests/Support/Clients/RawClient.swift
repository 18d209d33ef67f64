import Foundation
import GatehouseServiceContracts
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A client that sends exactly the bytes it is told to, and reads answers as they come.
final class RawClient: Sendable {
    struct Answer: Equatable {
        var status: Int
        /// Names in lower case.
        var fields: [(name: String, value: String)]
        var body: String
        var raw: String

        subscript(name: String) -> String? { fields.first { $0.name == name.lowercased() }?.value }

        /// The code of the problem in the body.
        var code: String? { (try? JSON.decode(ProblemDocument.self, from: Data(body.utf8)))?.code }

        static func == (one: Answer, other: Answer) -> Bool { one.raw == other.raw }
    }

    struct Timeout: Error { var received: String }
    struct Closed: Error { var received: String }

    private final class Inbox: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let state = Mutex<(bytes: [UInt8], isClosed: Bool)>(([], false))

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let buffer = unwrapInboundIn(data)
            state.withLock { $0.bytes.append(contentsOf: buffer.readableBytesView) }
        }

        func channelInactive(context: ChannelHandlerContext) { state.withLock { $0.isClosed = true } }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    private let channel: any Channel
    private let inbox: Inbox

    private init(channel: any Channel, inbox: Inbox) {
        self.channel = channel
        self.inbox = inbox
    }

    /// - Parameters:
    ///   - tls: `nil`: without TLS.
    ///   - reads: whether it ever takes what comes.
    static func connect(port: Int, tls: NIOSSLContext? = nil, reads: Bool = true) async throws -> RawClient {
        let inbox = Inbox()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: reads)
            .connect(port: port, tls: tls, handler: inbox)
        return RawClient(channel: channel, inbox: inbox)
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    func close() async { try? await channel.close().get() }

    /// Goes without a word, as a phone that loses its network.
    func reset() async {
        try? await (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        await close()
    }

    /// The next whole answer.
    func answer(toHead: Bool = false, within limit: Duration = .seconds(30)) async throws -> Answer {
        try await poll(within: limit) { bytes, isClosed in Self.parse(&bytes, isClosed: isClosed, toHead: toHead) }
    }

    /// Everything up to the connection's end.
    func untilClosed(within limit: Duration = .seconds(30)) async throws -> String {
        try await poll(within: limit) { bytes, isClosed in
            isClosed ? String(decoding: bytes, as: UTF8.self) : nil
        }
    }

    /// What has come once `text` is in it.
    func received(_ text: String, within limit: Duration = .seconds(30)) async throws -> String {
        try await poll(within: limit) { bytes, _ in
            let all = String(decoding: bytes, as: UTF8.self)
            return all.contains(text) ? all : nil
        }
    }

    /// What has come once there are so many bytes of it; they count as read.
    func bytes(_ count: Int, within limit: Duration = .seconds(30)) async throws -> [UInt8] {
        try await poll(within: limit) { bytes, _ in
            guard bytes.count >= count else { return nil }
            defer { bytes.removeFirst(count) }
            return Array(bytes[..<count])
        }
    }

    private func poll<Result>(
        within limit: Duration, _ body: (inout [UInt8], Bool) -> Result?
    ) async throws -> Result {
        let deadline = ContinuousClock.now + limit
        while true {
            let (result, isClosed) = inbox.state.withLock { state in
                (body(&state.bytes, state.isClosed), state.isClosed)
            }
            if let result { return result }
            if isClosed { throw Closed(received: received) }
            guard ContinuousClock.now < deadline else { throw Timeout(received: received) }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    private var received: String {
        inbox.state.withLock { String(decoding: $0.bytes.prefix(1000), as: UTF8.self) }
    }

    private static func parse(_ bytes: inout [UInt8], isClosed: Bool, toHead: Bool) -> Answer? {
        guard let headEnd = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else { return nil }
        let lines = String(decoding: bytes[..<(headEnd - 4)], as: UTF8.self).components(separatedBy: "\r\n")
        guard let status = Int(lines[0].split(separator: " ")[1]) else { return nil }
        let fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return (
                name: String(parts[0]).lowercased(), value: parts[1].trimmingCharacters(in: .whitespaces)
            )
        }
        func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
        var end = headEnd
        var body: [UInt8] = []
        if toHead || status < 200 || status == 204 || status == 304 {
            body = []
        } else if field("transfer-encoding") == "chunked" {
            while true {
                guard let lineEnd = bytes[end...].firstRange(of: [13, 10]),
                    let size = Int(String(decoding: bytes[end..<lineEnd.lowerBound], as: UTF8.self), radix: 16)
                else { return nil }
                if size == 0 {
                    guard let last = bytes[lineEnd.lowerBound...].firstRange(of: [13, 10, 13, 10]) else { return nil }
                    end = last.upperBound
                    break
                }
                guard bytes.count >= lineEnd.upperBound + size + 2 else { return nil }
                body += bytes[lineEnd.upperBound..<(lineEnd.upperBound + size)]
                end = lineEnd.upperBound + size + 2
            }
        } else {
            let length = Int(field("content-length") ?? "") ?? 0
            guard bytes.count >= headEnd + length else { return nil }
            end = headEnd + length
            body = Array(bytes[headEnd..<end])
        }
        let raw = String(decoding: bytes[..<end], as: UTF8.self)
        bytes.removeSubrange(..<end)
        return Answer(status: status, fields: fields, body: String(decoding: body, as: UTF8.self), raw: raw)
    }
}
