import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOSSL

/// A client of HTTP/2 that writes whatever frames a test wants, and knows no rules itself.
struct RawHTTP2Client {
    typealias Frame = RawHTTP2Frame

    private let connection: RawClient
    /// Its table has 4,096 bytes, whatever the gateway was allowed. It takes heads of any length.
    private var decoder = HPACKDecoder(
        allocator: ByteBufferAllocator(), maxDynamicTableSize: 4096, maxHeaderListSize: 1 << 20)
    /// Of each stream, what has come.
    private(set) var answers: [UInt32: HTTP2Client.Answer] = [:]
    /// Why the gateway ends the connection.
    private(set) var goAway: UInt32?

    /// - Parameter frames: sent with the preface, before anything of the gateway's is known.
    init(port: Int, tls: NIOSSLContext, sendingAtOnce frames: [Frame] = []) async throws {
        connection = try await RawClient.connect(port: port, tls: tls)
        try await connection.send(Self.preface(Frame(type: Frame.settings, stream: 0)) + frames.flatMap(\.bytes))
        if frames.isEmpty { try await acknowledgeSettings() }
    }

    /// What a connection begins with: `frames` after the magic bytes (RFC 9113 §3.4).
    private static func preface(_ frames: Frame...) -> [UInt8] {
        Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frames.flatMap(\.bytes)
    }

    /// What a connection begins with for a client that never says that it has taken something.
    ///
    /// - Parameter window: bytes of each response that it takes.
    static func preface(window: UInt32 = UInt32.max >> 1) -> [UInt8] {
        preface(.initialWindow(window), .windowUpdate(0, by: UInt32.max >> 1 - 65_535))
    }

    /// Waits for the gateway's settings and says that they are known.
    mutating func acknowledgeSettings() async throws {
        while true {
            let frame = try await next()
            if frame.type == Frame.settings, frame.flags == 0 { break }
        }
        try await send(Frame(type: Frame.settings, flags: 1, stream: 0))
    }

    func send(_ frames: Frame...) async throws { try await send(frames) }

    func send(_ frames: [Frame]) async throws { try await connection.send(frames.flatMap(\.bytes)) }

    /// A part of a frame.
    func send(bytes: some Collection<UInt8>) async throws { try await connection.send(Array(bytes)) }

    func close() async { await connection.close() }

    mutating func next() async throws -> Frame {
        let (head, length) = Frame.head(try await connection.bytes(9)[...])
        var frame = head
        frame.payload = try await connection.bytes(length)
        while frame.type == Frame.headers, !frame.endsHeaders {
            let (next, length) = Frame.head(try await connection.bytes(9)[...])
            frame.flags |= next.flags
            frame.payload += try await connection.bytes(length)
        }
        try note(frame)
        return frame
    }

    private mutating func note(_ frame: Frame) throws {
        if frame.type == Frame.goAway { goAway = frame.payload[4..<8].reduce(0) { $0 << 8 | UInt32($1) } }
        guard frame.stream != 0 else { return }
        var answer = answers[frame.stream] ?? .init()
        switch frame.type {
        case Frame.headers:
            var block = ByteBuffer(bytes: frame.payload)
            answer.fields = try decoder.decodeHeaders(from: &block)
            answer.status = answer.fields.first(name: ":status").flatMap(Int.init) ?? 0
        case Frame.data: answer.body += String(decoding: frame.payload, as: UTF8.self)
        case Frame.rstStream: answer.reset = HTTP2ErrorCode(networkCode: Int(frame.resetCode ?? 0))
        default: break
        }
        if frame.endsStream { answer.isComplete = true }
        answers[frame.stream] = answer
    }

    /// What a stream was answered, once it is at its end.
    mutating func answer(_ stream: UInt32) async throws -> HTTP2Client.Answer {
        while true {
            if let answer = answers[stream], answer.isComplete || answer.reset != nil { return answer }
            _ = try await next()
        }
    }
}
