import Bytes

/// The head of a client's request: where its parts stand in the bytes that were scanned.
///
/// The scanner accepts what RFC 9112 calls a request in origin form with HTTP/1.1, and of that only what every other
/// parser reads the same way.
struct RequestHead: Sendable {
    private(set) var method: MethodSet = []
    /// Without the query.
    private(set) var path = 0..<0
    /// Path and query.
    private(set) var target = 0..<0
    private(set) var fields = FieldSection()

    /// The body's framing (RFC 9112 §6.3).
    var framing: BodyFraming {
        if fields.isChunked { return .chunked }
        return .length(fields.contentLength ?? 0)
    }

    /// Scans a head from the first byte on.
    ///
    /// - Returns: the head's length; `nil` when the bytes end before the head does.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) throws(HeadFault) -> Int? {
        guard let lineEnd = try scanRequestLine(bytes), let end = try fields.scan(bytes, from: lineEnd) else {
            guard bytes.count < HeadLimits.bytes else { throw .tooLarge }
            return nil
        }
        guard let host = fields.host, !fields.lines[host].value.isEmpty else { throw .malformed("no Host") }
        return end
    }

    private static let targetBytes = ByteSet(.alphanumeric, "-._~!$&'()*+,;=:@/?%[]")

    private mutating func scanRequestLine(_ bytes: UnsafeRawBufferPointer) throws(HeadFault) -> Int? {
        let count = min(bytes.count, HeadLimits.bytes)
        var index = 0
        let token = FieldSection.tokenBytes
        while index < count, token.contains(bytes[index]) { index += 1 }
        guard index <= 32 else { throw .malformed("method") }
        guard index < count else { return nil }
        guard index > 0, bytes[index] == .space else { throw .malformed("method") }
        method = MethodSet(name: UnsafeRawBufferPointer(rebasing: bytes[..<index]))

        index += 1
        let targetStart = index
        let allowed = Self.targetBytes
        // Of a target that is too long the end may never come.
        let longestEnd = min(count, targetStart + HeadLimits.target + 1)
        var pathEnd: Int?
        while index < longestEnd, allowed.contains(bytes[index]) {
            if bytes[index] == UInt8(ascii: "?"), pathEnd == nil { pathEnd = index }
            if bytes[index] == UInt8(ascii: "%"), index + 2 < count,
                Hexadecimal.value(bytes[index + 1]) == nil || Hexadecimal.value(bytes[index + 2]) == nil
            {
                throw .malformed("escape")
            }
            index += 1
        }
        guard index - targetStart <= HeadLimits.target else { throw .targetTooLong }
        guard index < count else { return nil }
        guard bytes[index] == .space else { throw .malformed("request target") }
        target = targetStart..<index
        path = targetStart..<(pathEnd ?? index)
        guard CanonicalPath.isCanonical(UnsafeRawBufferPointer(rebasing: bytes[path])) else {
            throw .malformed("path")
        }

        return try Self.scanVersion(bytes, from: index + 1, to: count)
    }

    private static func scanVersion(
        _ bytes: UnsafeRawBufferPointer, from start: Int, to count: Int
    ) throws(HeadFault) -> Int? {
        var index = start
        var isOther = false
        for expected in "HTTP/1.1\r\n".utf8 {
            guard index < count else { return nil }
            let byte = bytes[index]
            if byte != expected {
                let isDigit = byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
                guard isDigit, expected == UInt8(ascii: "1") else { throw .malformed("version") }
                isOther = true
            }
            index += 1
        }
        if isOther { throw .version }
        return index
    }
}
