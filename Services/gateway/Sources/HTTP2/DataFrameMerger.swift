import NIOCore

/// Merges the small DATA frames and the WINDOW_UPDATE frames of each stream that arrive in one read.
///
/// A client chooses how many frames carry a body, and each frame costs NIO's codec several thousand instructions.
/// Streams are independent, and a WINDOW_UPDATE may arrive early. So these frames may be reordered among each other,
/// but not across a frame of another type. Frames without effect between them are dropped.
struct DataFrameMerger {
    /// Bytes of padding that a frame can have, with its length.
    private static let mostPadding = 256
    /// Frames with more data are not copied, because a copy would cost more than it saves.
    private static let small = PendingOutput.small
    /// The largest increment of a window (RFC 9113 §6.9).
    private static let largestIncrement = UInt32.max >> 1

    /// What a frame adds to the previous ones. A frame that adds nothing, or is malformed, is left to NIO's codec.
    private enum Part {
        case data(Range<Int>, padding: Int)
        case increment(UInt32)
        case nothing
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

    /// The frames of one read so far, merged by stream.
    private struct Run {
        private var data: [MergedData] = []
        private var updates: [MergedUpdate] = []
        /// Indices by stream.
        private var dataIndices: [UInt32: Int] = [:]
        private var updateIndices: [UInt32: Int] = [:]

        var isEmpty: Bool { data.isEmpty && updates.isEmpty }

        /// - Returns: whether there was room for it.
        mutating func add(_ bytes: UnsafeRawBufferPointer, ends: Bool, to stream: UInt32) -> Bool {
            let index = dataIndices[stream] ?? data.count
            if index == data.count {
                dataIndices[stream] = index
                data.append(MergedData(stream: stream))
            }
            guard !data[index].ends, data[index].data.readableBytes + bytes.count <= HTTP2FrameHeader.mostPayload
            else { return false }
            data[index].data.writeBytes(bytes)
            data[index].ends = ends
            return true
        }

        /// - Returns: whether there was room for it.
        mutating func add(_ increment: UInt32, to stream: UInt32) -> Bool {
            let index = updateIndices[stream] ?? updates.count
            if index == updates.count {
                updateIndices[stream] = index
                updates.append(MergedUpdate(stream: stream))
            }
            guard updates[index].increment + increment <= largestIncrement else { return false }
            updates[index].increment += increment
            return true
        }

        mutating func write(to output: inout ByteBuffer) {
            for update in updates {
                output.writeImmutableBuffer(
                    HTTP2FrameHeader.windowUpdate(update.stream, by: Int(update.increment)))
            }
            for frame in data {
                output.writeImmutableBuffer(
                    HTTP2FrameHeader.data(frame.stream, length: frame.data.readableBytes, ends: frame.ends))
                output.writeImmutableBuffer(frame.data)
            }
            updates.removeAll(keepingCapacity: true)
            data.removeAll(keepingCapacity: true)
            updateIndices.removeAll(keepingCapacity: true)
            dataIndices.removeAll(keepingCapacity: true)
        }
    }

    /// Bytes still to come of the connection's preface, or of a frame's payload.
    private var ahead = 24
    /// The beginning of a header.
    private var rest = ByteBuffer()
    /// Bytes of padding that were removed, by stream. The client counts them against its windows (RFC 9113 §6.9.1).
    private var padding: [UInt32: Int] = [:]

    /// - Parameters:
    ///   - beginsRequest: called for each HEADERS frame of the client.
    ///   - takesData: called once for each DATA frame of the client, with the payload's bytes that are certainly not
    ///     padding.
    /// - Returns: the replacement of `bytes`, equivalent for each stream except for the padding; `nil` when `takesData`
    ///   refused a frame: nothing may be merged after it.
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

    /// Resets the padding, for which the client has received window updates.
    mutating func takePadding() -> [UInt32: Int] {
        guard !padding.isEmpty else { return [:] }
        defer { padding.removeAll(keepingCapacity: true) }
        return padding
    }

    /// - Returns: the bytes before the beginning of a header, whether they contain anything to merge, and what is ahead
    ///   after them; `nil` when a frame was refused.
    private func survey(
        _ bytes: UnsafeRawBufferPointer, _ beginsRequest: () -> Void, _ takesData: (Int) -> Bool
    ) -> (count: Int, merges: Bool, ahead: Int)? {
        var index = ahead
        var small = 0
        while index + HTTP2FrameHeader.size <= bytes.count {
            let header = HTTP2FrameHeader(bytes, at: index)
            if header.type == HTTP2FrameHeader.headers { beginsRequest() }
            if header.type == HTTP2FrameHeader.data {
                let bytes = header.isPadded ? max(0, header.length - Self.mostPadding) : header.length
                guard takesData(bytes) else { return nil }
            }
            if Self.isSmall(header) { small += 1 }
            index += HTTP2FrameHeader.size + header.length
        }
        return index >= bytes.count ? (bytes.count, small > 1, index - bytes.count) : (index, small > 1, 0)
    }

    private mutating func merged(_ bytes: UnsafeRawBufferPointer) -> ByteBuffer {
        var output = ByteBufferAllocator().buffer(capacity: bytes.count)
        var run = Run()
        var index = min(ahead, bytes.count)
        output.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[..<index]))
        while index < bytes.count {
            let header = HTTP2FrameHeader(bytes, at: index)
            let start = index + HTTP2FrameHeader.size
            let end = start + header.length
            switch Self.part(of: header, in: bytes, from: start, to: end) {
            // No header block is open between frames that are merged.
            case .nothing where !run.isEmpty: break
            case nil, .nothing:
                run.write(to: &output)
                output.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[index..<min(end, bytes.count)]))
            case .data(let range, let padding):
                let data = UnsafeRawBufferPointer(rebasing: bytes[range])
                if !run.add(data, ends: header.endsStream, to: header.stream) {
                    run.write(to: &output)
                    _ = run.add(data, ends: header.endsStream, to: header.stream)
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

    /// Whether its payload may be merged.
    private static func isSmall(_ header: HTTP2FrameHeader) -> Bool {
        switch header.type {
        case HTTP2FrameHeader.data:
            header.length > 0 && header.length <= small + (header.isPadded ? mostPadding : 0)
        case HTTP2FrameHeader.windowUpdate: header.length == 4
        default: false
        }
    }

    private static func part(
        of header: HTTP2FrameHeader, in bytes: UnsafeRawBufferPointer, from start: Int, to end: Int
    ) -> Part? {
        guard end <= bytes.count else { return nil }
        if header.isWithoutEffect { return .nothing }
        guard isSmall(header) else { return nil }
        if header.type == HTTP2FrameHeader.windowUpdate {
            let increment = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt32.self))
            return increment & largestIncrement > 0 ? .increment(increment & largestIncrement) : nil
        }
        guard header.isPadded else { return .data(start..<end, padding: 0) }
        let padding = 1 + Int(bytes[start])
        guard padding < header.length else { return nil }
        return .data((start + 1)..<(end - padding + 1), padding: padding)
    }
}
