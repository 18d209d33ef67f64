import GatehouseServiceContracts
import NIOCore

/// The head of a forwarded request: the request line, `Host` and the route's credential, the client's lines without
/// those that a client may not set, then the gateway's lines.
struct ForwardedRequestHead {
    var upstreamLines: [UInt8]
    var forwardsAuthorization: Bool
    /// Written before `forwardedPath`.
    var pathPrefix: [UInt8] = []
    var forwardedPath: Range<Int>
    var identity: VerifiedToken?
    /// Whole lines about the bearer, which only this route's upstream receives.
    var claimLines: [UInt8] = []
    var bearerError: ErrorCode?
    var client: ClientAddress
    /// Names of further fields that are not forwarded.
    var droppedFields: [[UInt8]] = []
    /// Whether the client uses HTTPS, as a trusted proxy or the connection itself says.
    var isSecure: Bool
    /// Whether the request arrived over HTTP/2.
    var isHTTP2 = false
    var requestID: [UInt8]
    var trace: TraceParent
    var span: UInt64
    var continuesTrace: Bool
    /// The remaining `Max-Forwards`, for methods where it applies (RFC 9110 §7.6.2).
    var maxForwards: Int?
    /// Whether the upstream is asked to upgrade to WebSocket.
    var upgrades: Bool

    /// Bytes reserved for the lines that are written when the head is sent.
    static let roomForTimes = 96

    /// Writes the head without the deadline, the time that the request has waited, and the empty line. These are added
    /// when the head is sent.
    func write(_ head: borrowing RequestHead, _ bytes: UnsafeRawBufferPointer) -> ByteBuffer {
        let capacity =
            bytes.count * 2 + pathPrefix.count + upstreamLines.count + (identity?.identityLines.count ?? 0)
            + claimLines.count + 1024
        var buffer = ByteBufferAllocator().buffer(capacity: capacity)
        buffer.write(atMost: capacity - Self.roomForTimes) { writer in
            writeRequestLine(head, bytes, to: &writer)
            writer.write(upstreamLines)
            head.fields.writeLines(of: bytes, to: &writer) { isForwarded($0, of: head.fields, bytes) }
            writeOwnLines(head, bytes, to: &writer)
        }
        return buffer
    }

    private func writeRequestLine(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer, to writer: inout ByteWriter) {
        let path = UnsafeRawBufferPointer(rebasing: bytes[head.path])
        writer.write(UnsafeRawBufferPointer(rebasing: bytes[..<head.path.lowerBound]))
        writer.write(pathPrefix)
        if pathPrefix.isEmpty, forwardedPath.isEmpty { writer.write("/") }
        writer.write(UnsafeRawBufferPointer(rebasing: path[forwardedPath]))
        writer.write(UnsafeRawBufferPointer(rebasing: bytes[head.path.upperBound..<head.target.upperBound]))
        writer.write(" HTTP/1.1\r\n")
    }

    @inline(__always)
    private func isForwarded(_ line: FieldLine, of fields: FieldSection, _ bytes: UnsafeRawBufferPointer) -> Bool {
        switch line.name {
        case .other:
            // These names are folded like the gateway's known names.
            let name = UnsafeRawBufferPointer(rebasing: bytes[line.nameRange])
            guard !droppedFields.contains(where: { FieldName.isSame(name, as: $0) }) else { return false }
        case .origin, .accessControl: break
        case .authorization: guard forwardsAuthorization else { return false }
        case .tracestate: guard continuesTrace else { return false }
        case .maxForwards: guard maxForwards == nil else { return false }
        case .host, .contentLength, .transferEncoding, .connection, .upgrade, .expect, .requestID, .traceparent,
            .hopByHop, .forwarded, .override, .reserved, .disguised:
            return false
        }
        return !fields.hasConnectionOptions || !fields.isNamedByConnection(line, in: bytes)
    }

    private func writeOwnLines(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer, to writer: inout ByteWriter) {
        switch head.framing {
        case .chunked: writer.write("Transfer-Encoding: chunked\r\n")
        case .length(let length):
            // A POST without a body still has a length; a GET need not.
            if length > 0 || head.fields.contentLength != nil {
                writer.write("Content-Length: ")
                writer.write(decimal: length)
                writer.write("\r\n")
            }
        case .untilClose: break
        }
        if let maxForwards {
            writer.write("Max-Forwards: ")
            writer.write(decimal: maxForwards)
            writer.write("\r\n")
        }
        if upgrades { writer.write(.webSocketUpgrade) }
        writer.write("X-Forwarded-For: ")
        writer.write(client.text)
        writer.write(isSecure ? "\r\nX-Forwarded-Proto: https" : "\r\nX-Forwarded-Proto: http")
        if let host = head.fields.host {
            writer.write("\r\nX-Forwarded-Host: ")
            writer.write(UnsafeRawBufferPointer(rebasing: bytes[head.fields.lines[host].value]))
        }
        // RFC 9110 §7.6.3.
        writer.write(isHTTP2 ? "\r\nVia: 2.0 gatehouse" : "\r\nVia: 1.1 gatehouse")
        writer.write("\r\nX-Request-Id: ")
        writer.write(requestID)
        writer.write("\r\ntraceparent: ")
        trace.write(to: &writer, span: span)
        writer.write("\r\nGatehouse-Request-Id: ")
        writer.write(requestID)
        writer.write("\r\nGatehouse-Client-Address: ")
        writer.write(client.text)
        writer.write("\r\n")
        if let identity { writer.write(identity.identityLines) }
        writer.write(claimLines)
        if let bearerError {
            writer.write("Gatehouse-Bearer-Error: ")
            writer.write(Array(bearerError.rawValue.utf8))
            writer.write("\r\n")
        }
    }
}

extension StaticString {
    /// The lines of a head that requests or confirms an upgrade to WebSocket.
    static let webSocketUpgrade: StaticString = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
}

/// The head of the response to the client.
struct ForwardedResponseHead {
    var requestID: [UInt8]
    var isToHead: Bool
    var closes: Bool
    /// A whole line, added if the upstream sent no date (RFC 9110 §6.6.1); empty otherwise.
    var date: [UInt8]
    /// Whole lines that replace the upstream's; empty where the upstream's are forwarded.
    var cors: [UInt8] = []

    func write(_ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer) -> ByteBuffer {
        var capacity = bytes.count + cors.count + 256
        // A small body is then sent together with its head.
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
            head.fields.writeLines(of: bytes, to: &writer) { isForwarded($0, of: head.fields, bytes) }
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
    private func isForwarded(_ line: FieldLine, of fields: FieldSection, _ bytes: UnsafeRawBufferPointer) -> Bool {
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
            // A response to HEAD states the length that a GET would have, where the upstream sends it.
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
