import NIOCore
import NIOHTTP2

/// Reads each frame's header before NIO's codec, in both directions. It handles errors that concern one stream but make
/// the codec end the connection (RFC 9113 §5.4.2, §6.1):
///
/// - Streams beyond the limit are passed on and refused. For that, the codec gets a higher limit than the client.
/// - The codec gets the acknowledgement of the gateway's settings at once. Until then it would enforce lower limits
///   than the gateway has announced.
/// - DATA on a closed stream is dropped, and the stream is reset.
/// - Frames of streams opened after GOAWAY are dropped, except HEADERS, which change the compression's state.
///
/// It also bounds the resources that a client can use in the codec:
///
/// - The table of the codec's encoder, which is searched linearly for each field, is limited to the default of RFC
///   7541.
/// - Unread DATA waits in NIO's streams, up to the window of each. It counts against the memory for request bodies.
///   While that is used up, streams with much of it are reset.
/// - Small frames are merged (`DataFrameMerger`). A client that sends too many DATA frames for their payload loses the
///   connection; frames are counted before merging.
/// - HEADERS that are longer than every peer accepts continue in CONTINUATION frames, which the codec refuses to write.
///   So the codec gets a part of the fields, and the rest is added here.
///
/// The codec verifies everything else. HEADERS on a closed stream still end the connection (§5.1.1): their compression
/// would have to be read before they could be dropped.
final class HTTP2FrameGuard: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let preface = 24
    /// STREAM_CLOSED (RFC 9113 §7).
    private static let streamClosed: UInt32 = 5
    /// ENHANCE_YOUR_CALM (RFC 9113 §7).
    private static let enhanceYourCalm: UInt32 = 11
    /// SETTINGS_HEADER_TABLE_SIZE and SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113 §6.5.2).
    private static let (headerTableSize, maxConcurrentStreams) = (UInt16(1), UInt16(3))
    /// Bytes of the encoder's table: the default unless the client sets another. An encoder may use less than the
    /// client allows (RFC 7541 §4.2).
    private static let mostTable: UInt32 = 4096
    /// The codec's limit in place of `maximumStreams`. It is never reached, because streams beyond `maximumStreams` are
    /// refused at once.
    static let codecStreams = 1000
    /// Bytes of the connection's window. It is larger than a stream's, so that a client that exceeds a stream's window
    /// does not use up the connection's too.
    static let connectionWindow = 1 << 20
    /// The window before either side has changed it (RFC 9113 §6.9.2).
    static let firstWindow = 65_535

    /// Bytes of DATA that were passed to streams and not read.
    let waitingData: HTTP2WaitingData
    private let maximumStreams: Int
    private let now: () -> Int64
    /// Called for each stream that was reset here.
    private let onFault: () -> Void
    /// Called for each stream that was reset because its DATA waits while memory is short.
    private let onExcess: () -> Void
    /// Called once the client has sent too many DATA frames for their payload. The callee has to close the connection.
    private let onFlood: () -> Void

    private var merger = DataFrameMerger()
    private var budget: PieceBudget
    /// Whether nothing more is read from the client.
    private var isFlooded = false
    private var streams = HTTP2StreamTable()
    private var refused: Set<UInt32> = []
    /// Whether the codec has given up the connection.
    private(set) var isBroken = false

    /// Bytes of the preface, or of the frame that is being read, that are still to come.
    private var remaining = preface
    private var drops = false
    /// The stream whose DATA is being read.
    private var dataStream: UInt32?
    private var acknowledges = false
    private var hasSettings = false
    private var awaitsAcknowledgement = true
    /// The beginning of a frame's header.
    private var partial = ByteBuffer()
    private var isReading = false
    /// Bytes of DATA that were passed on, and that were dropped. The client is to receive window updates for both.
    private var passed = 0
    private var dropped = 0
    /// Streams to be reset here.
    private var resets: [UInt32] = []
    private var needsFlush = false

    /// Bytes of a DATA frame of the gateway's that are still to be written.
    private var outboundData = 0
    private var hasWrittenSettings = false
    /// Fields of a stream's next HEADERS in addition to those that the codec writes.
    private var furtherFields: [UInt32: ByteBuffer] = [:]

    /// - Parameter now: nanoseconds of a monotonic clock.
    init(
        maximumStreams: Int, waitingData: HTTP2WaitingData, now: @escaping () -> Int64,
        onFault: @escaping () -> Void, onExcess: @escaping () -> Void, onFlood: @escaping () -> Void
    ) {
        self.waitingData = waitingData
        self.onExcess = onExcess
        self.maximumStreams = maximumStreams
        self.now = now
        self.onFault = onFault
        self.onFlood = onFlood
        budget = PieceBudget(bytesPerPiece: PieceBudget.bytesPerFrame, now: now())
    }

    /// Whether a stream that has just begun exceeds the limit. It is called once for each stream.
    func isExcess(_ stream: HTTP2StreamID) -> Bool {
        !refused.isEmpty && refused.remove(UInt32(Int(stream))) != nil
    }

    /// Adds fields to the next HEADERS that the codec writes on a stream.
    ///
    /// - Parameter fields: encoded without the encoder's table; `nil`: none, the stream has ended.
    func setFurtherFields(_ fields: ByteBuffer?, of stream: HTTP2StreamID) {
        furtherFields[UInt32(Int(stream))] = fields
    }

    func handlerRemoved(context: ChannelHandlerContext) { waitingData.removeAll() }

    // MARK: From the client

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isFlooded else { return }
        let merged = merger.merge(
            unwrapInboundIn(data), beginsRequest: { budget.beginRequest() },
            takesData: { budget.take(bytes: $0, now: now()) })
        guard var bytes = merged else { return endFlood(context) }
        if partial.readableBytes == 0 { partial = bytes } else { partial.writeBuffer(&bytes) }
        guard !isReading else { return }
        isReading = true
        var left = 0
        // More may arrive while the codec processes the bytes.
        while partial.readableBytes > left {
            let whole = partial
            partial = ByteBuffer()
            left = read(whole, context)
        }
        isReading = false
        returnPadding(context)
    }

    /// Sends window updates for padding that the codec has not seen.
    private func returnPadding(_ context: ChannelHandlerContext) {
        for (stream, count) in merger.takePadding() {
            dropped += count
            guard let increment = streams.padded(stream, by: count) else { continue }
            context.write(wrapOutboundOut(HTTP2FrameHeader.windowUpdate(stream, by: increment)), promise: nil)
            needsFlush = true
        }
    }

    /// Passes on the allowed bytes, and leaves an incomplete header or SETTINGS frame in `partial`.
    ///
    /// - Returns: the number of bytes that were passed on.
    private func read(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) -> Int {
        var bytes = bytes
        /// The next byte to read; all bytes before it are allowed.
        var index = bytes.readerIndex
        func pass() {
            guard index > bytes.readerIndex else { return }
            context.fireChannelRead(wrapInboundOut(bytes.readSlice(length: index - bytes.readerIndex)!))
        }
        while index < bytes.writerIndex || (remaining == 0 && acknowledges) {
            if remaining > 0 {
                let count = min(remaining, bytes.writerIndex - index)
                remaining -= count
                index += count
                if let dataStream { waitingData.add(count, to: dataStream) }
                if drops { bytes.moveReaderIndex(to: index) }
                continue
            }
            drops = false
            dataStream = nil
            if acknowledges {
                acknowledges = false
                pass()
                context.fireChannelRead(wrapInboundOut(HTTP2FrameHeader.settingsAcknowledgement))
                continue
            }
            guard let frame = HTTP2FrameHeader(bytes, at: index) else { break }
            if frame.isSettings, frame.length <= HTTP2FrameHeader.mostPayload {
                guard index + HTTP2FrameHeader.size + frame.length <= bytes.writerIndex else { break }
                frame.changeSetting(Self.headerTableSize, in: &bytes, at: index) { min($0, Self.mostTable) }
            }
            remaining = frame.length
            drops = !goesOn(frame, pass)
            if drops { pass() }
            index += HTTP2FrameHeader.size
            if drops { bytes.moveReaderIndex(to: index) }
            if !hasSettings, frame.isSettings { (hasSettings, acknowledges) = (true, true) }
        }
        pass()
        let left = bytes.readableBytes
        if left > 0 {
            if partial.readableBytes > 0 { bytes.writeImmutableBuffer(partial) }
            partial = bytes
        }
        writeControlFrames(context)
        return left
    }

    private func endFlood(_ context: ChannelHandlerContext) {
        isFlooded = true
        let goAway = HTTP2FrameHeader.goAway(after: streams.last, Self.enhanceYourCalm)
        context.writeAndFlush(wrapOutboundOut(goAway), promise: nil)
        onFlood()
    }

    /// - Parameter pass: passes all bytes before this frame to the codec, so that the state of the streams is current.
    private func goesOn(_ frame: HTTP2FrameHeader, _ pass: () -> Void) -> Bool {
        if frame.isSettingsAcknowledgement, awaitsAcknowledgement {
            // The codec has received it already.
            awaitsAcknowledgement = false
            return false
        }
        let stream = frame.stream
        guard stream != 0 else { return true }
        if stream > streams.lastAllowed {
            if frame.type == HTTP2FrameHeader.data { dropped += frame.length }
            return frame.type == HTTP2FrameHeader.headers || frame.type == HTTP2FrameHeader.continuation
        }
        switch frame.type {
        case HTTP2FrameHeader.headers:
            if stream > streams.last, stream % 2 == 1 {
                if streams.count >= maximumStreams {
                    pass()
                    if streams.count >= maximumStreams { refused.insert(stream) }
                }
                streams.opened(stream)
            }
            if frame.endsStream { streams.clientEnded(stream) }
        case HTTP2FrameHeader.data:
            guard streams.takesData(stream) else { return isForCodec(frame, pass) }
            passed += frame.length
            dataStream = stream
            if frame.endsStream { streams.clientEnded(stream) }
        case HTTP2FrameHeader.rstStream: streams.clientReset(stream)
        default: break
        }
        return true
    }

    /// Whether the codec handles unexpected DATA itself. It does so for a stream that is open in the other direction,
    /// and for one that never existed.
    private func isForCodec(_ frame: HTTP2FrameHeader, _ pass: () -> Void) -> Bool {
        pass()
        if streams.isOpen(frame.stream) || frame.stream > streams.last {
            passed += frame.length
            return true
        }
        dropped += frame.length
        if !streams.wasReset(frame.stream) {
            streams.gatewayReset(frame.stream)
            resets.append(frame.stream)
        }
        return false
    }

    private func writeControlFrames(_ context: ChannelHandlerContext) {
        for stream in resets {
            context.write(wrapOutboundOut(HTTP2FrameHeader.reset(stream, Self.streamClosed)), promise: nil)
            needsFlush = true
            onFault()
        }
        resets.removeAll()
        // The codec has not seen these bytes, so it sends no window update for them.
        if dropped >= Self.connectionWindow / 128 {
            context.write(wrapOutboundOut(HTTP2FrameHeader.windowUpdate(by: dropped)), promise: nil)
            needsFlush = true
            dropped = 0
        }
        if passed >= Self.connectionWindow / 2 {
            let update = HTTP2Frame(streamID: .rootStream, payload: .windowUpdate(windowSizeIncrement: passed))
            context.pipeline.syncOperations.write(NIOAny(update), promise: nil)
            needsFlush = true
            passed = 0
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        waitingData.removeEnded(streams.isOpen)
        for stream in waitingData.excess() {
            let reset = HTTP2Frame(streamID: HTTP2StreamID(Int(stream)), payload: .rstStream(.enhanceYourCalm))
            context.pipeline.syncOperations.write(NIOAny(reset), promise: nil)
            needsFlush = true
            onExcess()
        }
        guard needsFlush else { return }
        needsFlush = false
        context.flush()
    }

    // MARK: From the codec

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes = unwrapOutboundIn(data)
        if outboundData > 0 {
            outboundData -= bytes.readableBytes
        } else if let frame = HTTP2FrameHeader(bytes, at: bytes.readerIndex) {
            // The codec writes a frame in one piece, except the payload of DATA.
            note(frame, &bytes)
        }
        context.write(wrapOutboundOut(bytes), promise: promise)
    }

    private func note(_ frame: HTTP2FrameHeader, _ bytes: inout ByteBuffer) {
        switch frame.type {
        case HTTP2FrameHeader.data:
            outboundData = frame.length - (bytes.readableBytes - HTTP2FrameHeader.size)
            if frame.endsStream { streams.gatewayEnded(frame.stream) }
        case HTTP2FrameHeader.headers:
            if frame.endsStream { streams.gatewayEnded(frame.stream) }
            if let fields = furtherFields.removeValue(forKey: frame.stream) {
                bytes = frame.appending(fields, to: bytes)
            }
        case HTTP2FrameHeader.rstStream: streams.gatewayReset(frame.stream)
        case HTTP2FrameHeader.goAway:
            let payload = bytes.readerIndex + HTTP2FrameHeader.size
            guard let (last, code) = bytes.getMultipleIntegers(at: payload, as: (UInt32, UInt32).self) else { return }
            streams.wentAway(after: last & 0x7FFF_FFFF)
            if code != 0 { isBroken = true }
        case HTTP2FrameHeader.settings where frame.isSettings && !hasWrittenSettings:
            hasWrittenSettings = true
            // Writes the limit for the client in place of the codec's.
            frame.changeSetting(Self.maxConcurrentStreams, in: &bytes, at: bytes.readerIndex) { _ in
                UInt32(maximumStreams)
            }
        default: break
        }
    }
}

/// The header of each frame of HTTP/2 (RFC 9113 §4.1).
struct HTTP2FrameHeader {
    static let size = 9

    static let (data, headers, rstStream, settings) = (UInt8(0), UInt8(1), UInt8(3), UInt8(4))
    static let (priority, goAway, windowUpdate, continuation) = (UInt8(2), UInt8(7), UInt8(8), UInt8(9))
    /// END_STREAM of DATA and HEADERS, ACK of SETTINGS.
    private static let firstFlag: UInt8 = 1
    private static let endHeaders: UInt8 = 4
    private static let padded: UInt8 = 8
    /// Bytes of a frame's payload that every peer accepts (RFC 9113 §4.2).
    static let mostPayload = 16_384

    /// The length of the payload.
    var length: Int
    var type: UInt8
    private var flags: UInt8
    var stream: UInt32

    /// - Returns: `nil` when there are fewer bytes than a header has.
    init?(_ bytes: ByteBuffer, at index: Int) {
        guard index + Self.size <= bytes.writerIndex else { return nil }
        self = bytes.withUnsafeReadableBytes { HTTP2FrameHeader($0, at: index - bytes.readerIndex) }
    }

    /// - Parameter index: has as many bytes after it as a header has.
    init(_ bytes: UnsafeRawBufferPointer, at index: Int) {
        length = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
        type = bytes[index + 3]
        flags = bytes[index + 4]
        // The first bit has no meaning (RFC 9113 §4.1).
        stream = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: index + 5, as: UInt32.self)) & 0x7FFF_FFFF
    }

    private init(length: Int, type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0) {
        self.length = length
        self.type = type
        self.flags = flags
        self.stream = stream
    }

    var endsStream: Bool { flags & Self.firstFlag != 0 && (type == Self.data || type == Self.headers) }
    /// Of DATA. Flags that a type of frame does not define have no meaning (RFC 9113 §4.1).
    var isPadded: Bool { flags & Self.padded != 0 && type == Self.data }
    /// Whether the frame has no effect outside of a header block: PRIORITY, and types that the codec does not know (RFC
    /// 9113 §5.3.2, §5.5).
    var isWithoutEffect: Bool {
        type == Self.priority ? length == 5 && stream != 0 : type > Self.continuation && length <= Self.mostPayload
    }
    var isSettings: Bool { type == Self.settings && flags & Self.firstFlag == 0 }
    var isSettingsAcknowledgement: Bool { type == Self.settings && flags & Self.firstFlag != 0 && length == 0 }

    /// DATA, whose payload follows.
    static func data(_ stream: UInt32, length: Int, ends: Bool) -> ByteBuffer {
        HTTP2FrameHeader(length: length, type: data, flags: ends ? firstFlag : 0, stream: stream).frame()
    }

    private func frame(_ payload: UInt32...) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.writeMultipleIntegers(UInt16(length >> 8), UInt8(length & 0xFF), type, flags, stream)
        for word in payload { bytes.writeInteger(word) }
        return bytes
    }

    static let settingsAcknowledgement = HTTP2FrameHeader(length: 0, type: settings, flags: firstFlag).frame()

    static func reset(_ stream: UInt32, _ code: UInt32) -> ByteBuffer {
        HTTP2FrameHeader(length: 4, type: rstStream, stream: stream).frame(code)
    }

    /// - Parameter stream: 0 is the whole connection.
    static func windowUpdate(_ stream: UInt32 = 0, by increment: Int) -> ByteBuffer {
        HTTP2FrameHeader(length: 4, type: windowUpdate, stream: stream).frame(UInt32(increment))
    }

    /// - Parameter last: the last stream that was processed.
    static func goAway(after last: UInt32, _ code: UInt32) -> ByteBuffer {
        HTTP2FrameHeader(length: 8, type: goAway).frame(last, code)
    }

    /// Changes a parameter of SETTINGS wherever the frame at `index` has it (RFC 9113 §6.5.1).
    func changeSetting(_ parameter: UInt16, in bytes: inout ByteBuffer, at index: Int, _ change: (UInt32) -> UInt32) {
        let first = index + Self.size
        for place in stride(from: first, through: first + length - 6, by: 6) {
            guard let (name, value) = bytes.getMultipleIntegers(at: place, as: (UInt16, UInt32).self),
                name == parameter, change(value) != value
            else { continue }
            bytes.setInteger(change(value), at: place + 2)
        }
    }

    /// Adds fields to the one HEADERS frame in `bytes`, and splits it into frames that every peer accepts.
    func appending(_ fields: ByteBuffer, to bytes: ByteBuffer) -> ByteBuffer {
        var payload = bytes
        payload.moveReaderIndex(forwardBy: Self.size)
        payload.writeImmutableBuffer(fields)
        var output = ByteBufferAllocator().buffer(capacity: payload.readableBytes + 8 * Self.size)
        var next = HTTP2FrameHeader(length: 0, type: type, flags: flags & ~Self.endHeaders, stream: stream)
        while payload.readableBytes > 0 {
            next.length = min(payload.readableBytes, Self.mostPayload)
            if next.length == payload.readableBytes { next.flags |= Self.endHeaders }
            output.writeImmutableBuffer(next.frame())
            output.writeImmutableBuffer(payload.readSlice(length: next.length)!)
            next = HTTP2FrameHeader(length: 0, type: Self.continuation, stream: stream)
        }
        return output
    }
}

extension ByteBuffer {
    /// Writes a field of a header block as a literal without indexing and without Huffman coding (RFC 7541 §6.2.2). It
    /// does not use or change the encoder's table.
    mutating func writeLiteralField(_ name: String, _ value: String) {
        writeInteger(UInt8(0))
        for text in [name, value] {
            writePrefixedLength(text.utf8.count)
            writeString(text)
        }
    }

    /// An integer with a prefix of seven bits (RFC 7541 §5.1).
    private mutating func writePrefixedLength(_ length: Int) {
        let most = 127
        guard length >= most else {
            writeInteger(UInt8(length))
            return
        }
        writeInteger(UInt8(most))
        var rest = length - most
        while rest >= 128 {
            writeInteger(UInt8(rest & 127 | 128))
            rest >>= 7
        }
        writeInteger(UInt8(rest))
    }
}
