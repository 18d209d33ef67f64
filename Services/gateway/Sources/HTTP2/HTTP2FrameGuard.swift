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
