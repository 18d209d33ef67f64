import NIOCore

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

    private var state = State.size
    private var trailers = FieldSection()
    private let connectionOptions: [[UInt8]]

    /// - Parameter connectionOptions: what `Connection` names of the trailer fields (RFC 9110 §7.6.1).
    init(connectionOptions: [[UInt8]]) { self.connectionOptions = connectionOptions }

    /// The next part; `nil` when more bytes are needed.
    mutating func next(from input: inout ByteBuffer) throws(HeadFault) -> BodyReader.Part? {
        while true {
            switch state {
            case .size:
                guard let size = try readSize(from: &input) else { return nil }
                state = size == 0 ? .trailers : .data(remaining: size)
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

    private mutating func scanTrailers(_ input: ByteBuffer) throws(HeadFault) -> Int? {
        let length = try input.withUnsafeReadableBytes { (bytes) throws(HeadFault) in
            try trailers.scan(bytes, from: 0)
        }
        guard trailers.contentLength == nil, !trailers.isChunked, trailers.host == nil else {
            throw .malformed("framing in trailers")
        }
        return length
    }

    /// The trailer lines that may go on: none of those that mean something to the gateway, or concern one hop only.
    private func kept(of section: ByteBuffer) -> ByteBuffer? {
        var lines = ByteBuffer()
        section.withUnsafeReadableBytes { bytes in
            lines.write(atMost: bytes.count) { writer in
                trailers.writeLines(of: bytes, to: &writer) { line in
                    guard line.name == .other else { return false }
                    let name = UnsafeRawBufferPointer(rebasing: bytes[line.nameRange])
                    return !connectionOptions.contains { $0.withUnsafeBytes { name.equalsFolded($0) } }
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
        while index < bytes.count, let digit = hexValue(bytes[index]) {
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
    /// - Returns: the offset of what follows, which is there; `nil` when more bytes are needed.
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
