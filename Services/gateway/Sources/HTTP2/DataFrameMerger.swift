import NIOCore

/// Joins the small DATA frames of a stream, and the WINDOW_UPDATE frames of a stream, that one read brings.
///
/// A client decides into how many frames a body is cut, and each costs NIO's codec several thousand instructions. The
/// streams do not depend on one another, and a WINDOW_UPDATE may come earlier than it was sent, so these frames may pass
/// one another. No frame passes a frame of another type.
struct DataFrameMerger {
    /// Bytes of a frame that is merged, and of one that comes out of it: what every peer takes (RFC 9113 §4.2).
    private static let longest = 16_384
    private static let endStream: UInt8 = 1
    private static let padded: UInt8 = 8
    /// Frames with more data than this are not worth a copy.
    private static let small = PendingOutput.small
    /// Streams whose frames are gathered at once. Each frame is looked up among them, and one read may bring frames of
    /// thousands.
    private static let mostStreams = 64
    /// The largest increment of a window (RFC 9113 §6.9).
    private static let largestIncrement = UInt32.max >> 1

    private struct Header {
        static let size = 9

        var length: Int
        var type: UInt8
        var flags: UInt8
        var stream: UInt32

        init(_ bytes: UnsafeRawBufferPointer, at index: Int) {
            length = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
            type = bytes[index + 3]
            flags = bytes[index + 4]
            // The first bit has no meaning (RFC 9113 §4.1).
            stream = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: index + 5, as: UInt32.self)) & 0x7FFF_FFFF
        }

        /// Whether its payload may be merged. Flags that DATA does not define have no meaning (RFC 9113 §4.1).
        var isSmall: Bool {
            switch type {
            case HTTP2FrameHeader.data:
                length > 0 && length <= DataFrameMerger.small + (flags & DataFrameMerger.padded == 0 ? 0 : 256)
            case HTTP2FrameHeader.windowUpdate: length == 4
            default: false
            }
        }
    }

    /// What a frame adds to those before it. Frames that have nothing to add, or are malformed, are left to NIO's codec.
    private enum Part {
        case data(Range<Int>, padding: Int, ends: Bool)
        case increment(UInt32)
    }

    private struct MergedData {
        var stream: UInt32
        var data = ByteBuffer()
        var ends = false
    }

    private struct MergedUpdate {
        var stream: UInt32
        var increment: UInt32 = 0
    }

    /// The frames that one read has brought so far, those of a stream as one.
    private struct Run {
        private var data: [MergedData] = []
        private var updates: [MergedUpdate] = []
        private var lastData = 0
        private var lastUpdate = 0

        /// - Returns: whether there was room for it.
        mutating func add(_ bytes: UnsafeRawBufferPointer, ends: Bool, to stream: UInt32) -> Bool {
            if !(lastData < data.count && data[lastData].stream == stream) {
                lastData = data.firstIndex { $0.stream == stream } ?? data.count
            }
            if lastData < data.count {
                guard !data[lastData].ends, data[lastData].data.readableBytes + bytes.count <= longest else {
                    return false
                }
            } else {
                guard data.count < mostStreams else { return false }
                data.append(MergedData(stream: stream))
            }
            data[lastData].data.writeBytes(bytes)
            data[lastData].ends = ends
            return true
        }

        /// - Returns: whether there was room for it.
        mutating func add(_ increment: UInt32, to stream: UInt32) -> Bool {
            if !(lastUpdate < updates.count && updates[lastUpdate].stream == stream) {
                lastUpdate = updates.firstIndex { $0.stream == stream } ?? updates.count
            }
            if lastUpdate < updates.count {
                guard updates[lastUpdate].increment + increment <= largestIncrement else { return false }
            } else {
                guard updates.count < mostStreams else { return false }
                updates.append(MergedUpdate(stream: stream))
            }
            updates[lastUpdate].increment += increment
            return true
        }

        mutating func write(to output: inout ByteBuffer) {
            for update in updates {
                output.writeInteger(UInt32(4) << 8 | UInt32(HTTP2FrameHeader.windowUpdate))
                output.writeInteger(UInt8(0))
                output.writeInteger(update.stream)
                output.writeInteger(update.increment)
            }
            for frame in data {
                output.writeInteger(UInt32(frame.data.readableBytes) << 8 | UInt32(HTTP2FrameHeader.data))
                output.writeInteger(frame.ends ? endStream : 0)
                output.writeInteger(frame.stream)
                output.writeImmutableBuffer(frame.data)
            }
            updates.removeAll(keepingCapacity: true)
            data.removeAll(keepingCapacity: true)
        }
    }

    /// Bytes that belong to what has begun before: the preface of the connection, a frame's payload.
    private var ahead = 24
    /// The beginning of a header.
    private var rest = ByteBuffer()
    /// Bytes of padding that were taken out, by stream. The client counts them against its windows (RFC 9113 §6.9.1).
    private var padding: [UInt32: Int] = [:]

    /// - Parameters:
    ///   - beginsRequest: called for each HEADERS frame of the client.
    ///   - takesData: asked once for each DATA frame of the client, with the bytes of its payload.
    /// - Returns: what takes the place of `bytes`, in which nothing of the streams has changed but the padding; `nil`
    ///   when `takesData` refused a frame: nothing may be merged after it.
    mutating func merge(
        _ bytes: ByteBuffer, beginsRequest: () -> Void = {}, takesData: (Int) -> Bool
    ) -> ByteBuffer? {
        var input = bytes
        if rest.readableBytes > 0 {
            rest.writeBuffer(&input)
            input = rest
            rest = ByteBuffer()
        }
        guard let (count, merges, ahead) = input.withUnsafeReadableBytes({ survey($0, beginsRequest, takesData) })
        else { return nil }
        var output = input.readSlice(length: count)!
        if input.readableBytes > 0 { rest = ByteBuffer(bytes: input.readableBytesView) }
        if merges { output = output.withUnsafeReadableBytes { merged($0) } }
        self.ahead = ahead
        return output
    }

    /// Forgets the padding, for which the client has got room again.
    mutating func takePadding() -> [UInt32: Int] {
        guard !padding.isEmpty else { return [:] }
        defer { padding.removeAll(keepingCapacity: true) }
        return padding
    }

    /// - Returns: the bytes before the beginning of a header, whether there is anything to merge in them, and what is
    ///   ahead after them; `nil` when a frame was refused.
    private func survey(
        _ bytes: UnsafeRawBufferPointer, _ beginsRequest: () -> Void, _ takesData: (Int) -> Bool
    ) -> (count: Int, merges: Bool, ahead: Int)? {
        var index = ahead
        var small = 0
        while index + Header.size <= bytes.count {
            let header = Header(bytes, at: index)
            if header.type == HTTP2FrameHeader.headers { beginsRequest() }
            if header.type == HTTP2FrameHeader.data, !takesData(header.length) { return nil }
            if header.isSmall { small += 1 }
            index += Header.size + header.length
        }
        return index >= bytes.count ? (bytes.count, small > 1, index - bytes.count) : (index, small > 1, 0)
    }

    private mutating func merged(_ bytes: UnsafeRawBufferPointer) -> ByteBuffer {
        var output = ByteBufferAllocator().buffer(capacity: bytes.count)
        var run = Run()
        var index = min(ahead, bytes.count)
        output.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[..<index]))
        while index < bytes.count {
            let header = Header(bytes, at: index)
            let end = index + Header.size + header.length
            switch Self.part(of: header, in: bytes, from: index + Header.size, to: end) {
            case nil:
                run.write(to: &output)
                output.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[index..<min(end, bytes.count)]))
            case .data(let range, let padding, let ends):
                let data = UnsafeRawBufferPointer(rebasing: bytes[range])
                if !run.add(data, ends: ends, to: header.stream) {
                    run.write(to: &output)
                    _ = run.add(data, ends: ends, to: header.stream)
                }
                if padding > 0 { self.padding[header.stream, default: 0] += padding }
            case .increment(let increment):
                if !run.add(increment, to: header.stream) {
                    run.write(to: &output)
                    _ = run.add(increment, to: header.stream)
                }
            }
            index = min(end, bytes.count)
        }
        run.write(to: &output)
        return output
    }

    private static func part(
        of header: Header, in bytes: UnsafeRawBufferPointer, from start: Int, to end: Int
    ) -> Part? {
        guard header.isSmall, end <= bytes.count else { return nil }
        if header.type == HTTP2FrameHeader.windowUpdate {
            let increment = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self))
            return increment & largestIncrement > 0 ? .increment(increment & largestIncrement) : nil
        }
        let ends = header.flags & endStream != 0
        guard header.flags & padded != 0 else { return .data(start..<end, padding: 0, ends: ends) }
        let padding = 1 + Int(bytes[start])
        guard padding < header.length else { return nil }
        return .data((start + 1)..<(end - padding + 1), padding: padding, ends: ends)
    }
}
