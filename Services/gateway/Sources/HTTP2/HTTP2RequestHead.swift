import Bytes
import NIOCore
import NIOHPACK

/// A request's head that came as HTTP/2, as the same head in HTTP/1.1 (RFC 9113 §8.3): so that one scanner judges all
/// requests, and one path leads them on.
struct HTTP2RequestHead {
    /// The bytes of the head, its empty line included.
    private(set) var bytes = ByteBuffer()
    private(set) var isHead = false
    /// Whether the body that follows goes in chunks.
    private(set) var isChunked = false
    /// Bytes of the body, where the head says so.
    private(set) var length: Int?

    /// What HTTP/1.1 says about a connection, and HTTP/2 must not (RFC 9113 §8.2.2).
    private static let forbidden: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
    ]

    /// - Parameter hasBody: whether the stream goes on after the head.
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
                // It may repeat what `:authority` says, and must then say the same (RFC 9113 §8.3.1).
                guard authority?.isVerbatim(value) ?? true else { throw .malformed("Host") }
                authority = value
            case "cookie": cookies.append(value)
            // It speaks of this hop, and only says that trailers may come.
            case "te":
                guard value.isVerbatim("trailers") else { throw .malformed("TE") }
            case "content-length":
                (saysLength, length) = (true, Int(value))
                lines.writeLine(name, value)
            default:
                // An unknown pseudo-header field is none of these either.
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
        // Clients may send it in pieces (RFC 9113 §8.2.3).
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

    /// A token without capitals, which are malformed in HTTP/2.
    private static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { FieldSection.tokenBytes.contains($0) && $0.lowercased == $0 }
    }

    /// Nothing that would end a line of HTTP/1.1, and no blanks around it (RFC 9113 §8.2.1). NIO's codec has put U+FFFD in
    /// place of bytes that are no UTF-8: such a value can't go on as it came.
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
