import NIOCore

/// The head that a client is sent for an upstream's response.
struct ForwardedResponseHead {
    var requestID: [UInt8]
    var isToHead: Bool
    var closes: Bool
    /// A whole line, for an upstream without a clock (RFC 9110 §6.6.1); empty where the upstream says it.
    var date: [UInt8]
    /// Whole lines, in place of the upstream's; empty where those are let through.
    var cors: [UInt8] = []

    func write(_ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer) -> ByteBuffer {
        var capacity = bytes.count + cors.count + 256
        // A small body then goes with its head.
        if case .length(let length) = head.framing(toHead: isToHead), length <= PendingOutput.small {
            capacity += length
        }
        var buffer = ByteBufferAllocator().buffer(capacity: capacity)
        buffer.write(atMost: capacity) { writer in
            writer.write("HTTP/1.1 ")
            writer.write(decimal: head.status)
            writer.write(" ")
            writer.write(UnsafeRawBufferPointer(rebasing: bytes[head.reason]))
            writer.write("\r\n")
            head.fields.writeLines(of: bytes, to: &writer) { goesThrough($0, of: head.fields, bytes) }
            writeFraming(head, to: &writer)
            if head.status == 101 { writer.write(.webSocketUpgrade) }
            writer.write(date)
            writer.write(cors)
            writer.write("X-Request-Id: ")
            writer.write(requestID)
            writer.write(closes ? "\r\nConnection: close\r\n\r\n" : "\r\n\r\n")
        }
        return buffer
    }

    @inline(__always)
    private func goesThrough(_ line: FieldLine, of fields: FieldSection, _ bytes: UnsafeRawBufferPointer) -> Bool {
        switch line.name {
        case .accessControl: cors.isEmpty
        case .contentLength, .transferEncoding, .connection, .upgrade, .hopByHop, .requestID, .reserved, .disguised:
            false
        default: !fields.hasConnectionOptions || !fields.isNamedByConnection(line, in: bytes)
        }
    }

    private func writeFraming(_ head: ResponseHead, to writer: inout ByteWriter) {
        if head.status == 204 || head.status < 200 { return }
        let framing: BodyFraming
        if isToHead || head.status == 304 {
            // What a GET would be told, where the upstream tells.
            guard head.fields.isChunked || head.fields.contentLength != nil else { return }
            framing = head.fields.isChunked ? .chunked : .length(head.fields.contentLength ?? 0)
        } else {
            framing = head.framing(toHead: false)
        }
        switch framing {
        case .length(let length):
            writer.write("Content-Length: ")
            writer.write(decimal: length)
            writer.write("\r\n")
        case .chunked, .untilClose: writer.write("Transfer-Encoding: chunked\r\n")
        }
    }
}
