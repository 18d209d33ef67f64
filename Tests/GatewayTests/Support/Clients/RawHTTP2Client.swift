import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOSSL

/// A client of HTTP/2 that writes whatever frames a test wants, and knows no rules itself.
struct RawHTTP2Client {
    struct Frame: Sendable {
        static let (data, headers, rstStream, settings) = (UInt8(0), UInt8(1), UInt8(3), UInt8(4))
        static let (ping, goAway, windowUpdate) = (UInt8(6), UInt8(7), UInt8(8))

        var type: UInt8
        var flags: UInt8 = 0
        var stream: UInt32
        var payload: [UInt8] = []

        /// What RST_STREAM says.
        var resetCode: UInt32? {
            type == Frame.rstStream ? payload.reduce(0) { $0 << 8 | UInt32($1) } : nil
        }

        var endsStream: Bool { flags & 1 == 1 && (type == Frame.data || type == Frame.headers) }

        var bytes: [UInt8] {
            let length = payload.count
            return [UInt8(length >> 16), UInt8(length >> 8 & 255), UInt8(length & 255), type, flags]
                + (0..<4).map { UInt8(truncatingIfNeeded: stream >> (24 - 8 * $0)) } + payload
        }

        static func windowUpdate(_ stream: UInt32, by increment: UInt32) -> Frame {
            Frame(
                type: windowUpdate, stream: stream,
                payload: (0..<4).map { UInt8(truncatingIfNeeded: increment >> (24 - 8 * $0)) })
        }

        static func data(_ stream: UInt32, _ text: String = "", ends: Bool = false) -> Frame {
            Frame(type: data, flags: ends ? 1 : 0, stream: stream, payload: Array(text.utf8))
        }

        /// Names and values as bytes, without compression.
        static func headers(_ stream: UInt32, _ fields: [(String, [UInt8])], ends: Bool) -> Frame {
            func string(_ bytes: [UInt8]) -> [UInt8] {
                guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
                var (rest, length) = (bytes.count - 127, [UInt8(127)])
                while rest >= 128 {
                    length.append(UInt8(rest & 127 | 128))
                    rest >>= 7
                }
                return length + [UInt8(rest)] + bytes
            }
            // Literals without indexing (RFC 7541 §6.2.2).
            var block: [UInt8] = []
            for (name, value) in fields { block += [0] + string(Array(name.utf8)) + string(value) }
            return Frame(type: headers, flags: ends ? 5 : 4, stream: stream, payload: block)
        }

        static func request(
            _ stream: UInt32, _ method: String, _ path: String, _ fields: [(String, [UInt8])] = [], ends: Bool
        ) -> Frame {
            let head = [(":method", method), (":scheme", "https"), (":authority", "gatehouse.test"), (":path", path)]
            return headers(stream, head.map { ($0, Array($1.utf8)) } + fields, ends: ends)
        }
    }

    private let connection: RawClient
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    /// Of each stream, what has come.
    private(set) var answers: [UInt32: HTTP2Client.Answer] = [:]
    /// Why the gateway ends the connection.
    private(set) var goAway: UInt32?

    /// - Parameter frames: sent with the preface, before anything of the gateway's is known.
    init(port: Int, tls: NIOSSLContext, sendingAtOnce frames: [Frame] = []) async throws {
        connection = try await RawClient.connect(port: port, tls: tls)
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Frame(type: Frame.settings, stream: 0).bytes
        try await connection.send(preface + frames.flatMap(\.bytes))
        if frames.isEmpty { try await acknowledgeSettings() }
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

    func close() async { await connection.close() }

    mutating func next() async throws -> Frame {
        let head = try await connection.bytes(9)
        let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        let stream = head[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let frame = Frame(
            type: head[3], flags: head[4], stream: stream, payload: try await connection.bytes(length))
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
