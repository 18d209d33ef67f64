import NIOCore

/// Makes few large DATA frames of many small ones that come together, before anybody looks at them.
///
/// A client decides into how many frames a body is cut, and each costs NIO several thousand instructions. Streams do not
/// depend on one another, so frames of one may pass those of others; nothing passes a frame of another kind.
struct DataFrameMerger {
    /// Of a frame that is merged, and of one that comes out of it, in bytes: what every peer takes (RFC 9113 §4.2).
    private static let longest = 16_384
    private static let headerLength = 9
    private static let endStream: UInt8 = 1
    /// Frames up to this are merged; larger ones are not worth a copy.
    private static let small = PendingOutput.small
    /// Streams whose frames are gathered at once. Each frame looks for its own among them, and there may be thousands in
    /// what one read brings.
    private static let mostStreams = 64

    private struct Header {
        var length: Int
        var type: UInt8
        var flags: UInt8
        var stream: UInt32

        init(_ bytes: UnsafeRawBufferPointer, at index: Int) {
            length = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
            type = bytes[index + 3]
            flags = bytes[index + 4]
            // Its first bit means nothing (RFC 9113 §4.1).
            stream = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: index + 5, as: UInt32.self)) & 0x7FFF_FFFF
        }

        /// Data without padding. Frames without any are left for NIO to count.
        var isSmallData: Bool {
            type == 0 && flags & ~DataFrameMerger.endStream == 0 && length > 0 && length <= DataFrameMerger.small
        }
    }

    /// Frames of one stream that have become one.
    private struct Merged {
        var stream: UInt32
        var data: ByteBuffer
        var ends = false
    }

    /// Bytes that belong to what has begun before: the preface of the connection, a frame's payload.
    private var ahead = 24
    /// The beginning of a header.
    private var rest = ByteBuffer()

    /// - Returns: what takes the place of `bytes`, in which nothing of the streams has changed.
    mutating func merge(_ bytes: ByteBuffer) -> ByteBuffer {
        var input = bytes
        if rest.readableBytes > 0 {
            rest.writeBuffer(&input)
            input = rest
            rest = ByteBuffer()
        }
        let (count, merges, ahead) = input.withUnsafeReadableBytes { survey($0) }
        var output = input.readSlice(length: count)!
        if input.readableBytes > 0 { rest = ByteBuffer(bytes: input.readableBytesView) }
        if merges { output = output.withUnsafeReadableBytes { merged($0) } }
        self.ahead = ahead
        return output
    }

    /// - Returns: the bytes that are no beginning of a header, whether there is anything to merge in them, and what is
    ///   ahead after them.
    private func survey(_ bytes: UnsafeRawBufferPointer) -> (count: Int, merges: Bool, ahead: Int) {
        var index = ahead
        var small = 0
        while index + Self.headerLength <= bytes.count {
            let header = Header(bytes, at: index)
            if header.isSmallData { small += 1 }
            index += Self.headerLength + header.length
        }
        return index >= bytes.count ? (bytes.count, small > 1, index - bytes.count) : (index, small > 1, 0)
    }

    private func merged(_ bytes: UnsafeRawBufferPointer) -> ByteBuffer {
        var output = ByteBufferAllocator().buffer(capacity: bytes.count)
        var run: [Merged] = []
        var last = 0
        var index = min(ahead, bytes.count)
        output.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[..<index]))
        while index < bytes.count {
            let header = Header(bytes, at: index)
            let start = index + Self.headerLength
            let end = start + header.length
            guard header.isSmallData, end <= bytes.count else {
                Self.write(&run, to: &output)
                let whole = min(end, bytes.count)
                output.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[index..<whole]))
                index = whole
                continue
            }
            let data = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
            index = end
            if !(last < run.count && run[last].stream == header.stream) {
                last = run.firstIndex { $0.stream == header.stream } ?? run.count
            }
            let isFull =
                last < run.count
                ? run[last].ends || run[last].data.readableBytes + data.count > Self.longest
                : last == Self.mostStreams
            if isFull {
                Self.write(&run, to: &output)
                last = 0
            }
            if last == run.count { run.append(Merged(stream: header.stream, data: ByteBuffer())) }
            run[last].data.writeBytes(data)
            run[last].ends = header.flags & Self.endStream != 0
        }
        Self.write(&run, to: &output)
        return output
    }

    private static func write(_ run: inout [Merged], to output: inout ByteBuffer) {
        for frame in run {
            output.writeInteger(UInt32(frame.data.readableBytes) << 8)
            output.writeInteger(frame.ends ? endStream : 0)
            output.writeInteger(frame.stream)
            output.writeImmutableBuffer(frame.data)
        }
        run.removeAll(keepingCapacity: true)
    }
}

/// Merges the small DATA frames of an HTTP/2 connection.
final class DataFrameMergerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var merger = DataFrameMerger()

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = merger.merge(unwrapInboundIn(data))
        if bytes.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(bytes)) }
    }
}
