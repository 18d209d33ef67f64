import NIOCore
import NIOHPACK
import NIOHTTP2

/// One stream of an HTTP/2 connection. It translates for the `ClientConnection` behind it, which speaks HTTP/1.1.
final class HTTP2Stream: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = HTTP2Frame.FramePayload

    private enum RequestPhase {
        case head
        case body(isChunked: Bool)
        case ended
    }

    private enum ResponsePhase {
        case head
        case body(BodyReader)
        case ended
    }

    /// The HTTP/1.1 handler behind this stream.
    weak var client: ClientConnection?
    /// Bytes of the response's body that wait for the client to take more.
    private(set) var waiting = 0
    private let connection: HTTP2Connection
    private let frames: HTTP2FrameGuard
    private let id: UInt32
    /// Whether the stream has read DATA that still counts as waiting.
    private var hasTakenData = false
    private var request = RequestPhase.head
    private var isHead = false
    /// Bytes of the declared body that have not arrived.
    private var missing: Int?
    /// The last bytes of the request. They wait until the stream ends too: further bytes would make the request
    /// malformed (RFC 9113 §8.1.1).
    private var last: ByteBuffer?
    private var response = ResponsePhase.head
    private var output = ByteBuffer()
    /// Reads the bytes that the gateway wrote: the upstream's head and the gateway's lines.
    private var responseHead = ResponseHead(limits: .written)
    private var context: ChannelHandlerContext?
    /// This stream, once it has written fields that the codec does not encode.
    private var longStream: HTTP2StreamID?

    init(_ id: UInt32, of connection: HTTP2Connection, _ frames: HTTP2FrameGuard) {
        self.id = id
        self.connection = connection
        self.frames = frames
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        frames.waitingData.remove(id)
        if let longStream { frames.setFurtherFields(nil, of: longStream) }
    }

    // MARK: The request

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let frame): read(frame, context)
        case .data(let frame):
            hasTakenData = true
            read(frame, context)
        default: break
        }
    }

    /// NIO hands over all waiting bytes at once.
    func channelReadComplete(context: ChannelHandlerContext) {
        guard hasTakenData else { return context.fireChannelReadComplete() }
        hasTakenData = false
        frames.waitingData.remove(id)
        context.fireChannelReadComplete()
        guard self.context != nil, frames.waitingData.exceedsMemory(client?.bodyWaiting ?? 0) else { return }
        connection.countRefusal("body memory")
        reset(.enhanceYourCalm, context)
    }

    private func read(_ frame: HTTP2Frame.FramePayload.Headers, _ context: ChannelHandlerContext) {
        do throws(HeadFault) {
            switch request {
            case .head:
                let head = try HTTP2RequestHead(frame.headers, hasBody: !frame.endStream)
                if frame.endStream, (head.length ?? 0) > 0 { throw .malformed("Content-Length") }
                isHead = head.isHead
                request = frame.endStream ? .ended : .body(isChunked: head.isChunked)
                missing = head.length
                if !frame.endStream, head.length == 0 {
                    last = head.bytes
                } else {
                    context.fireChannelRead(wrapInboundOut(head.bytes))
                }
            case .body(let isChunked):
                let trailers = try HTTP2RequestHead.trailers(frame.headers)
                guard (missing ?? 0) == 0 else { throw .malformed("Content-Length") }
                request = .ended
                if isChunked {
                    context.fireChannelRead(wrapInboundOut(.lastChunk(trailers)))
                } else {
                    complete(context)
                }
            case .ended: break
            }
        } catch {
            refuse(context)
        }
    }

    /// The request is malformed (RFC 9113 §8.1.1).
    private func refuse(_ context: ChannelHandlerContext) {
        request = .ended
        reset(.protocolError, context)
        connection.malformed()
    }

    private func read(_ frame: HTTP2Frame.FramePayload.Data, _ context: ChannelHandlerContext) {
        guard case .body(let isChunked) = request, case .byteBuffer(let bytes) = frame.data else { return }
        if frame.endStream { request = .ended }
        guard isChunked else { return readCounted(bytes, context) }
        // An empty chunk would be the last.
        if bytes.readableBytes > 0 {
            bytes.asChunk { context.fireChannelRead(wrapInboundOut($0)) }
        }
        if frame.endStream { context.fireChannelRead(wrapInboundOut(.lastChunk(nil))) }
    }

    /// A part of a body whose length is known.
    private func readCounted(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        if let missing {
            let left = missing - bytes.readableBytes
            self.missing = left
            if left < 0 { return refuse(context) }
            if case .ended = request, left > 0 { return refuse(context) }
        }
        if bytes.readableBytes > 0 {
            if missing == 0 { last = bytes } else { context.fireChannelRead(wrapInboundOut(bytes)) }
        }
        if case .ended = request { complete(context) }
    }

    private func complete(_ context: ChannelHandlerContext) {
        guard let bytes = last.take() else { return }
        context.fireChannelRead(wrapInboundOut(bytes))
    }

    // MARK: The response

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes = unwrapOutboundIn(data)
        if output.readableBytes == 0 { output = bytes } else { output.writeBuffer(&bytes) }
        do throws(HeadFault) {
            while try writeNext(context) {}
            output.releaseIfEmpty()
            promise?.succeed()
        } catch {
            // The bytes are the gateway's own, so this is not the client's fault.
            promise?.fail(error)
            reset(.internalError, context)
        }
    }

    /// - Returns: whether there may be more to write.
    private func writeNext(_ context: ChannelHandlerContext) throws(HeadFault) -> Bool {
        switch response {
        case .head: return try writeHead(context)
        case .body(var reader):
            // Held back until it is known whether it is the last.
            var data: ByteBuffer?
            while let part = try reader.next(from: &output) {
                if let data { write(data, context) }
                data = nil
                switch part {
                case .data(let bytes): data = bytes
                case .end(let trailers):
                    response = .ended
                    if let trailers {
                        if let data { write(data, context) }
                        end(headers(try fields(trailers), endStream: true, context), context)
                    } else {
                        let last = data ?? ByteBuffer()
                        end(.data(.init(data: .byteBuffer(last), endStream: true)), body: last.readableBytes, context)
                    }
                    return true
                }
            }
            if let data { write(data, context) }
            response = .body(reader)
            return false
        case .ended:
            output.clear()
            return false
        }
    }

    private func writeHead(_ context: ChannelHandlerContext) throws(HeadFault) -> Bool {
        guard output.readableBytes > 0 else { return false }
        let scanned = try output.withUnsafeReadableBytes {
            (bytes) throws(HeadFault) -> (length: Int, fields: HPACKHeaders)? in
            guard let length = try responseHead.scan(bytes) else { return nil }
            var fields: HPACKHeaders = [":status": "\(responseHead.status)"]
            fields.add(responseHead.fields, of: bytes)
            return (length, fields)
        }
        guard let (length, fields) = scanned else { return false }
        output.moveReaderIndex(forwardBy: length)
        let isInterim = responseHead.status < 200
        let framing = responseHead.framing(toHead: isHead)
        let endsStream = !isInterim && framing == .length(0)
        if !isInterim { response = endsStream ? .ended : .body(BodyReader(framing)) }
        let head = headers(fields, endStream: endsStream, context)
        if endsStream { end(head, context) } else { context.write(wrapOutboundOut(head), promise: nil) }
        return true
    }

    /// HEADERS for the codec, limited to one frame. Fields that may exceed it are written past the codec. They keep
    /// their order, since a response may have several of one name.
    private func headers(
        _ fields: HPACKHeaders, endStream: Bool, _ context: ChannelHandlerContext
    ) -> HTTP2Frame.FramePayload {
        // Minus the changes of the table's size that may precede them (RFC 7541 §6.3).
        var room = HTTP2FrameHeader.mostPayload - 32
        // Huffman's longest code has 30 bits (RFC 7541 Appendix B). The rest is for the index and two lengths.
        func most(_ name: String, _ value: String) -> Int { 4 * (name.utf8.count + value.utf8.count) + 16 }
        guard fields.reduce(0, { $0 + most($1.name, $1.value) }) > room,
            let id = try? context.channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
        else { return .headers(.init(headers: fields, endStream: endStream)) }
        var encoded = HPACKHeaders()
        var further = ByteBuffer()
        for (name, value, indexing) in fields {
            room -= most(name, value)
            if room >= 0 {
                encoded.add(name: name, value: value, indexing: indexing)
            } else {
                further.writeLiteralField(name, value)
            }
        }
        // The codec must have written earlier HEADERS: the fields belong to the next ones that it writes.
        context.flush()
        frames.setFurtherFields(further, of: id)
        longStream = id
        return .headers(.init(headers: encoded, endStream: endStream))
    }

    private func write(_ data: ByteBuffer, _ context: ChannelHandlerContext) {
        let frame = HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(data), endStream: false))
        context.write(wrapOutboundOut(frame), promise: counting(data.readableBytes, context) { _, _, _ in })
    }

    /// Counts bytes of the body until the client's system has them, or never will.
    ///
    /// - Parameter then: called then, with whether it has them.
    private func counting(
        _ bytes: Int, _ context: ChannelHandlerContext,
        then: @escaping (HTTP2Stream, ChannelHandlerContext, _ isWritten: Bool) -> Void
    ) -> EventLoopPromise<Void> {
        waiting += bytes
        let written = context.eventLoop.makePromise(of: Void.self)
        let own = NIOLoopBound((self, context, then), eventLoop: context.eventLoop)
        written.futureResult.whenComplete { result in
            let (stream, context, then) = own.value
            stream.waiting -= bytes
            then(stream, context, (try? result.get()) != nil)
            stream.client?.hasTaken()
        }
        return written
    }

    private func fields(_ trailers: ByteBuffer) throws(HeadFault) -> HPACKHeaders {
        var section = trailers
        section.writeStaticString("\r\n")
        return try section.withUnsafeReadableBytes { (bytes) throws(HeadFault) in
            var lines = FieldSection()
            var fields = HPACKHeaders()
            if try lines.scan(bytes, from: 0) != nil { fields.add(lines, of: bytes) }
            return fields
        }
    }

    // MARK: The end

    /// Writes the last frame. The stream ends once both sides have written theirs. A client that is still sending gets
    /// a reset once it can have the whole response (RFC 9113 §8.1).
    private func end(_ last: HTTP2Frame.FramePayload, body: Int = 0, _ context: ChannelHandlerContext) {
        if case .ended = request, body == 0 { return context.write(wrapOutboundOut(last), promise: nil) }
        let written = counting(body, context) { stream, context, isWritten in
            if case .ended = stream.request { return }
            if isWritten { stream.reset(.noError, context) }
        }
        context.write(wrapOutboundOut(last), promise: written)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .output else { return context.close(mode: mode, promise: promise) }
        // The response's last frame has ended the stream already.
        if case .ended = response {} else { reset(.internalError, context) }
        promise?.succeed()
    }

    /// Resets a stream of which nothing was read, because the client does not read the previous responses and another
    /// response would wait too. The client may send the request again (RFC 9113 §8.7).
    func resetUnread() {
        guard let context else { return }
        connection.countRefusal("unread answers")
        reset(.refusedStream, context)
    }

    private func reset(_ code: HTTP2ErrorCode, _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(.rstStream(code)), promise: nil)
    }
}

extension HPACKHeaders {
    /// Adds the fields of a message that HTTP/2 allows: all that do not concern one connection (RFC 9113 §8.2.2).
    fileprivate mutating func add(_ section: FieldSection, of bytes: UnsafeRawBufferPointer) {
        for line in section.lines {
            switch line.name {
            case .connection, .transferEncoding, .upgrade, .hopByHop: continue
            default:
                // The value differs for each response, so indexing it would be useless work for the encoder.
                add(
                    name: String(decoding: bytes[line.nameRange], as: UTF8.self).lowercased(),
                    value: Self.text(bytes[line.value]),
                    indexing: line.name == .requestID ? .nonIndexable : .indexable)
            }
        }
    }

    /// NIO's codec accepts only text. Bytes that are not UTF-8 are read as ISO 8859-1, the historical encoding of
    /// values (RFC 9110 §5.5).
    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = ""
        for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        return text
    }
}

/// Tracks which streams of an HTTP/2 connection are open, from the frames that pass.
struct HTTP2StreamTable {
    private enum State {
        case open
        case clientEnded
        case gatewayEnded
    }

    private struct Stream {
        var state = State.open
        /// Bytes of padding for which the client has not received a window update.
        var padding = 0
    }

    /// Bytes of padding that trigger a window update: a part of a stream's window.
    private static let returnedPadding = 4096

    /// Streams that were reset recently, whose frames may still be in flight.
    private static let remembered = 256

    private var open: [UInt32: Stream] = [:]
    /// The last stream that the client has opened.
    private(set) var last: UInt32 = 0
    /// The last stream that the client may open.
    private(set) var lastAllowed = UInt32.max
    private var reset: [UInt32] = []
    private var oldestReset = 0

    var count: Int { open.count }

    func isOpen(_ stream: UInt32) -> Bool { open[stream] != nil }

    /// Whether the client may send DATA on it.
    func takesData(_ stream: UInt32) -> Bool {
        guard let state = open[stream]?.state else { return false }
        return state != .clientEnded
    }

    /// Counts padding that was removed from a stream's DATA.
    ///
    /// - Returns: the size of the window update that the client is to receive.
    mutating func padded(_ stream: UInt32, by count: Int) -> Int? {
        guard takesData(stream), let padding = open[stream]?.padding else { return nil }
        let isDue = padding + count >= Self.returnedPadding
        open[stream]?.padding = isDue ? 0 : padding + count
        return isDue ? padding + count : nil
    }

    /// Whether the gateway has reset the stream recently.
    func wasReset(_ stream: UInt32) -> Bool { reset.contains(stream) }

    mutating func opened(_ stream: UInt32) {
        last = stream
        open[stream] = Stream()
    }

    mutating func clientEnded(_ stream: UInt32) {
        guard let state = open[stream]?.state else { return }
        open[stream] = state == .gatewayEnded ? nil : Stream(state: .clientEnded)
    }

    mutating func gatewayEnded(_ stream: UInt32) {
        guard let state = open[stream]?.state else { return }
        if state == .clientEnded { open[stream] = nil } else { open[stream]?.state = .gatewayEnded }
    }

    mutating func clientReset(_ stream: UInt32) { open[stream] = nil }

    mutating func gatewayReset(_ stream: UInt32) {
        open[stream] = nil
        if reset.count < Self.remembered {
            reset.append(stream)
        } else {
            reset[oldestReset] = stream
            oldestReset = (oldestReset + 1) % Self.remembered
        }
    }

    mutating func wentAway(after stream: UInt32) { lastAllowed = min(lastAllowed, stream) }
}
