import GatehouseBytes
import NIOCore

/// Reads a body from a connection's bytes, and nothing after it.
struct BodyReader {
    enum Part: Equatable {
        case data(ByteBuffer)
        /// The body is complete. `trailers` are the trailer lines of a chunked body that may be forwarded.
        case end(trailers: ByteBuffer?)
    }

    private enum State {
        case remaining(Int)
        case untilClose
        case chunked(ChunkReader)
        case ended
    }

    private var state: State

    /// - Parameter connectionOptions: names of trailer fields that are not forwarded.
    init(_ framing: BodyFraming, connectionOptions: [[UInt8]] = []) {
        state =
            switch framing {
            case .length(let length): .remaining(length)
            case .chunked: .chunked(ChunkReader(connectionOptions: connectionOptions))
            case .untilClose: .untilClose
            }
    }

    /// The next part; `nil` when more bytes are needed.
    mutating func next(from input: inout ByteBuffer) throws(HeadFault) -> Part? {
        switch state {
        case .ended: return nil
        case .untilClose:
            guard input.readableBytes > 0 else { return nil }
            return .data(input.readSlice(length: input.readableBytes)!)
        case .remaining(0):
            state = .ended
            return .end(trailers: nil)
        case .remaining(let remaining):
            let count = min(remaining, input.readableBytes)
            guard count > 0 else { return nil }
            state = .remaining(remaining - count)
            return .data(input.readSlice(length: count)!)
        case .chunked(var reader):
            let part = try reader.next(from: &input)
            if case .end = part { state = .ended } else { state = .chunked(reader) }
            return part
        }
    }

    /// The number of chunks that have begun since the last call.
    mutating func takeChunks() -> Int {
        guard case .chunked(var reader) = state else { return 0 }
        defer { state = .chunked(reader) }
        return reader.takeChunks()
    }

    /// Whether the end of the connection ends the body.
    var endsWithConnection: Bool {
        if case .untilClose = state { true } else { false }
    }
}

/// How a body is delimited (RFC 9112 §6.3).
enum BodyFraming: Equatable, Sendable {
    case length(Int)
    case chunked
    /// The connection's end is the body's end; responses only.
    case untilClose

    /// The length, where it is declared.
    var length: Int? { if case .length(let length) = self { length } else { nil } }
}

/// Reads the chunked transfer coding (RFC 9112 §7.1): sizes in at most 15 hexadecimal digits, extensions checked and
/// skipped, CRLF everywhere.
struct ChunkReader {
    private enum State {
        case size
        case data(remaining: Int)
        case dataEnd
        case trailers
    }

    private static let longestSizeLine = 256
    /// Chunks up to this size are copied to the previous ones.
    private static let small = PendingOutput.small
    /// The maximum size of a part that consists of small chunks.
    private static let longestPart = 16 * 1024

    private var state = State.size
    private var trailers = FieldSection()
    private var chunks = 0
    private let connectionOptions: [[UInt8]]

    /// - Parameter connectionOptions: names of trailer fields that are not forwarded, for example those that
    ///   `Connection` names (RFC 9110 §7.6.1).
    init(connectionOptions: [[UInt8]]) { self.connectionOptions = connectionOptions }

    mutating func takeChunks() -> Int {
        defer { chunks = 0 }
        return chunks
    }

    /// The next part; `nil` when more bytes are needed. Small chunks that arrived together become one part, because the
    /// sender chooses their number and each part costs the gateway and the receiver.
    mutating func next(from input: inout ByteBuffer) throws(HeadFault) -> BodyReader.Part? {
        while true {
            if let data = readSmallChunks(from: &input) { return .data(data) }
            switch state {
            case .size:
                guard let size = try readSize(from: &input) else { return nil }
                state = size == 0 ? .trailers : .data(remaining: size)
                chunks += 1
            case .data(let remaining):
                let count = min(remaining, input.readableBytes)
                guard count > 0 else { return nil }
                state = count == remaining ? .dataEnd : .data(remaining: remaining - count)
                return .data(input.readSlice(length: count)!)
            case .dataEnd:
                guard input.readableBytes >= 2 else { return nil }
                guard input.readInteger(as: UInt16.self) == 0x0D0A else { throw .malformed("end of chunk") }
                state = .size
            case .trailers:
                guard let length = try scanTrailers(input) else { return nil }
                let section = input.readSlice(length: length)!
                return .end(trailers: length == 2 ? nil : kept(of: section))
            }
        }
    }

    /// Reads complete chunks with their ends, if at least two small ones are available. `next` refuses malformed ones.
    private mutating func readSmallChunks(from input: inout ByteBuffer) -> ByteBuffer? {
        guard case .size = state else { return nil }
        let (parts, length, count) = input.withUnsafeReadableBytes { bytes -> (ByteBuffer?, Int, Int) in
            guard let first = Self.smallChunk(in: bytes, at: 0),
                let second = Self.smallChunk(in: bytes, at: first.end)
            else { return (nil, 0, 0) }
            var (end, count) = (0, 0)
            var data = ByteBuffer()
            // No chunk is longer than its data.
            data.write(atMost: min(Self.longestPart, bytes.count)) { writer in
                var chunk = Optional(first)
                while let next = chunk, writer.count + next.data.count <= Self.longestPart {
                    writer.write(UnsafeRawBufferPointer(rebasing: bytes[next.data]))
                    end = next.end
                    count += 1
                    chunk = end == second.start ? second : Self.smallChunk(in: bytes, at: end)
                }
            }
            return (data, end, count)
        }
        input.moveReaderIndex(forwardBy: length)
        chunks += count
        return parts
    }

    /// A complete small chunk with data; `nil` for anything else.
    private static func smallChunk(
        in bytes: UnsafeRawBufferPointer, at start: Int
    ) -> (start: Int, data: Range<Int>, end: Int)? {
        let data: Range<Int>
        // A fast path for sizes of one digit, because the smallest chunks are the most numerous.
        if start + 2 < bytes.count, bytes[start + 2] == .lineFeed, bytes[start + 1] == .carriageReturn,
            let size = Hexadecimal.value(bytes[start])
        {
            data = (start + 3)..<(start + 3 + Int(size))
        } else {
            guard start < bytes.count,
                let line = try? scanSize(UnsafeRawBufferPointer(rebasing: bytes[start...])), line.size <= small
            else { return nil }
            data = (start + line.length)..<(start + line.length + line.size)
        }
        guard !data.isEmpty, data.upperBound + 2 <= bytes.count, bytes[data.upperBound] == .carriageReturn,
            bytes[data.upperBound + 1] == .lineFeed
        else { return nil }
        return (start, data, data.upperBound + 2)
    }

    private mutating func scanTrailers(_ input: ByteBuffer) throws(HeadFault) -> Int? {
        let length = try input.withUnsafeReadableBytes { (bytes) throws(HeadFault) in
            try trailers.scan(bytes, from: 0)
        }
        guard trailers.contentLength == nil, !trailers.isChunked, trailers.host == nil else {
            throw .malformed("framing in trailers")
        }
        return length
    }

    /// The trailer lines that may be forwarded: all except those that the gateway handles by name, and those that
    /// `Connection` lists.
    private func kept(of section: ByteBuffer) -> ByteBuffer? {
        var lines = ByteBuffer()
        section.withUnsafeReadableBytes { bytes in
            lines.write(atMost: bytes.count) { writer in
                trailers.writeLines(of: bytes, to: &writer) { line in
                    guard line.name == .other else { return false }
                    let name = UnsafeRawBufferPointer(rebasing: bytes[line.nameRange])
                    return !connectionOptions.contains { FieldName.isSame(name, as: $0) }
                }
            }
        }
        return lines.readableBytes > 0 ? lines : nil
    }

    /// Reads a line with a chunk's size.
    private func readSize(from input: inout ByteBuffer) throws(HeadFault) -> Int? {
        let line = try input.withUnsafeReadableBytes { (bytes) throws(HeadFault) in try Self.scanSize(bytes) }
        guard let line else { return nil }
        input.moveReaderIndex(forwardBy: line.length)
        return line.size
    }

    private static func scanSize(
        _ bytes: UnsafeRawBufferPointer
    ) throws(HeadFault) -> (size: Int, length: Int)? {
        var index = 0
        var size = 0
        while index < bytes.count, let digit = Hexadecimal.value(bytes[index]) {
            guard index < 15 else { throw .malformed("chunk size") }
            size = size << 4 | Int(digit)
            index += 1
        }
        guard index < bytes.count else { return nil }
        guard index > 0 else { throw .malformed("chunk size") }
        while bytes[index] == UInt8(ascii: ";") {
            guard let end = try scanExtension(bytes, from: index + 1) else { return nil }
            index = end
        }
        guard bytes[index] == .carriageReturn else { throw .malformed("chunk size") }
        guard index + 1 < bytes.count else { return nil }
        guard bytes[index + 1] == .lineFeed else { throw .malformed("chunk size") }
        return (size, index + 2)
    }

    /// `name` or `name=token`, without white space and without quotes.
    ///
    /// - Returns: the offset of the available byte that follows; `nil` when more bytes are needed.
    private static func scanExtension(_ bytes: UnsafeRawBufferPointer, from start: Int) throws(HeadFault) -> Int? {
        let token = FieldSection.tokenBytes
        var index = start
        func skipToken() throws(HeadFault) -> Bool {
            let first = index
            while index < bytes.count, token.contains(bytes[index]) { index += 1 }
            guard index <= longestSizeLine else { throw .malformed("chunk extension") }
            guard index < bytes.count else { return false }
            guard index > first else { throw .malformed("chunk extension") }
            return true
        }
        guard try skipToken() else { return nil }
        if bytes[index] == UInt8(ascii: "=") {
            index += 1
            guard try skipToken() else { return nil }
        }
        return index
    }
}

extension ByteBuffer {
    /// Passes these bytes as one chunk to `write`: a small one in one piece, a large one without copying it.
    func asChunk(_ write: (ByteBuffer) -> Void) {
        let isSmall = readableBytes <= PendingOutput.small
        // The size has at most 16 digits.
        var buffer = ByteBufferAllocator().buffer(capacity: 20 + (isSmall ? readableBytes : 0))
        buffer.writeString(String(readableBytes, radix: 16))
        buffer.writeStaticString("\r\n")
        if isSmall {
            buffer.writeImmutableBuffer(self)
            buffer.writeStaticString("\r\n")
            write(buffer)
        } else {
            write(buffer)
            write(self)
            write(Self.lineEnd)
        }
    }

    private static let lineEnd = ByteBuffer(string: "\r\n")

    static func lastChunk(_ trailers: ByteBuffer?) -> ByteBuffer {
        var buffer = ByteBuffer(string: "0\r\n")
        if var trailers { buffer.writeBuffer(&trailers) }
        buffer.writeStaticString("\r\n")
        return buffer
    }
}
