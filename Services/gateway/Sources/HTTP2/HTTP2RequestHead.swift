import GatehouseBytes
import NIOCore
import NIOHPACK

/// Converts a request's head from HTTP/2 to HTTP/1.1 (RFC 9113 §8.3), so that one scanner verifies all requests and one
/// code path forwards them.
struct HTTP2RequestHead {
    /// The bytes of the head, its empty line included.
    private(set) var bytes = ByteBuffer()
    private(set) var isHead = false
    /// Whether the body that follows is chunked.
    private(set) var isChunked = false
    /// The length of the body, where the head declares it.
    private(set) var length: Int?

    /// Fields about a connection, which HTTP/2 forbids (RFC 9113 §8.2.2).
    private static let forbidden: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
    ]

    /// - Parameter hasBody: whether the stream continues after the head.
    init(_ fields: HPACKHeaders, hasBody: Bool) throws(HeadFault) {
        var (method, path, scheme, authority): (String?, String?, String?, String?)
        var cookies: [String] = []
        var saysLength = false
        var hasFields = false
        var lines = ByteBuffer()
        for (name, value, _) in fields {
            guard Self.isClean(value) else { throw .malformed("field value") }
            if name.utf8.first == .colon {
                guard !hasFields else { throw .malformed("pseudo-header fields") }
            } else {
                guard Self.isName(name) else { throw .malformed("field name") }
                hasFields = true
            }
            switch VerbatimString(name) {
            case ":method": try Self.set(&method, value)
            case ":path": try Self.set(&path, value)
            case ":scheme": try Self.set(&scheme, value)
            case ":authority": try Self.set(&authority, value)
            case "host":
                // It may repeat the value of `:authority`, and must then equal it (RFC 9113 §8.3.1).
                guard authority?.isVerbatim(value) ?? true else { throw .malformed("Host") }
                authority = value
            case "cookie": cookies.append(value)
            // `TE` applies to this hop only, and may only say that the client accepts trailers.
            case "te":
                guard value.isVerbatim("trailers") else { throw .malformed("TE") }
            case "content-length":
                (saysLength, length) = (true, Int(value))
                lines.writeLine(name, value)
            default:
                // This also refuses unknown pseudo-header fields.
                guard name.utf8.first != .colon, !Self.forbidden.contains(name) else { throw .malformed("field name") }
                lines.writeLine(name, value)
            }
        }
        guard let method, let path, !path.isEmpty, let authority, let scheme, scheme.isVerbatim("https") else {
            throw .malformed("pseudo-header fields")
        }
        isHead = method.isVerbatim("HEAD")
        isChunked = hasBody && !saysLength
        bytes.writeString("\(method) \(path) HTTP/1.1\r\n")
        bytes.writeLine("Host", authority)
        bytes.writeBuffer(&lines)
        // Clients may send the cookies in several fields (RFC 9113 §8.2.3).
        if !cookies.isEmpty { bytes.writeLine("Cookie", cookies.joined(separator: "; ")) }
        if isChunked { bytes.writeLine("Transfer-Encoding", "chunked") }
        bytes.writeStaticString("\r\n")
    }

    private static func set(_ field: inout String?, _ value: String) throws(HeadFault) {
        guard field == nil, !value.utf8.contains(where: { $0 <= .space || $0 == 0x7F }) else {
            throw .malformed("pseudo-header fields")
        }
        field = value
    }

    /// The lines of a trailer section.
    static func trailers(_ fields: HPACKHeaders) throws(HeadFault) -> ByteBuffer {
        var lines = ByteBuffer()
        for (name, value, _) in fields {
            guard isName(name), !forbidden.contains(name) else { throw .malformed("field name") }
            guard isClean(value) else { throw .malformed("field value") }
            lines.writeLine(name, value)
        }
        return lines
    }

    /// A token without upper-case letters, which are malformed in HTTP/2.
    private static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { FieldSection.tokenBytes.contains($0) && $0.lowercased == $0 }
    }

    /// Whether the value has no bytes that would end a line of HTTP/1.1, and no white space around it (RFC 9113
    /// §8.2.1). NIO's codec replaces bytes that are not UTF-8 with U+FFFD, so such a value cannot be forwarded
    /// unchanged.
    private static func isClean(_ value: String) -> Bool {
        let bytes = value.utf8
        return !bytes.contains { $0 == .lineFeed || $0 == .carriageReturn || $0 == 0 }
            && !(bytes.first?.isBlank ?? false) && !(bytes.last?.isBlank ?? false)
            && (bytes.allSatisfy { $0 < 0x80 } || !value.unicodeScalars.contains("\u{FFFD}"))
    }
}

extension ByteBuffer {
    fileprivate mutating func writeLine(_ name: String, _ value: String) {
        writeString(name)
        writeStaticString(": ")
        writeString(value)
        writeStaticString("\r\n")
    }
}
