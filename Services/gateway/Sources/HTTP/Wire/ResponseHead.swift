/// The head of an upstream's response: where its parts stand in the bytes that were scanned.
struct ResponseHead: Sendable {
    private(set) var status = 0
    private(set) var reason = 0..<0
    private(set) var fields: FieldSection
    private let limits: HeadLimits
    private var isVersion10 = false

    init(limits: HeadLimits = .received) {
        self.limits = limits
        fields = FieldSection(limits: limits)
    }

    /// Whether the connection can carry another request once the body is read.
    var keepsAlive: Bool { !fields.saysClose && (!isVersion10 || fields.saysKeepAlive) }

    /// The body's framing (RFC 9112 §6.3).
    func framing(toHead: Bool) -> BodyFraming {
        if toHead || status == 204 || status == 304 || status < 200 { return .length(0) }
        if fields.isChunked { return .chunked }
        return fields.contentLength.map { .length($0) } ?? .untilClose
    }

    /// Scans a head from the first byte on.
    ///
    /// - Returns: the head's length; `nil` when the bytes end before the head does.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) throws(HeadFault) -> Int? {
        guard let lineEnd = try scanStatusLine(bytes), let end = try fields.scan(bytes, from: lineEnd) else {
            guard bytes.count < limits.mostBytes else { throw .tooLarge }
            return nil
        }
        if fields.isChunked && isVersion10 { throw .malformed("transfer coding in HTTP/1.0") }
        if fields.isChunked && (status < 200 || status == 204) { throw .malformed("transfer coding without a body") }
        return end
    }

    private mutating func scanStatusLine(_ bytes: UnsafeRawBufferPointer) throws(HeadFault) -> Int? {
        let count = min(bytes.count, limits.mostBytes)
        var index = 0
        for expected in "HTTP/1.".utf8 {
            guard index < count else { return nil }
            guard bytes[index] == expected else { throw .malformed("version") }
            index += 1
        }
        // "1 200 " or "0 200 "
        guard index + 6 <= count else { return nil }
        guard bytes[index] == UInt8(ascii: "0") || bytes[index] == UInt8(ascii: "1"), bytes[index + 1] == .space else {
            throw .malformed("version")
        }
        isVersion10 = bytes[index] == UInt8(ascii: "0")
        status = 0
        for digit in bytes[(index + 2)..<(index + 5)] {
            guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { throw .malformed("status") }
            status = status * 10 + Int(digit - UInt8(ascii: "0"))
        }
        guard (100...599).contains(status) else { throw .malformed("status") }
        index += 5
        if bytes[index] == .space { index += 1 }
        let reasonStart = index
        index = FieldSection.endOfValue(bytes, from: index, to: count)
        guard index + 1 < count else {
            guard index == count || bytes[index] == .carriageReturn else { throw .malformed("reason") }
            return nil
        }
        guard bytes[index] == .carriageReturn, bytes[index + 1] == .lineFeed else { throw .malformed("reason") }
        guard index == reasonStart || bytes[reasonStart - 1] == .space else { throw .malformed("status") }
        reason = reasonStart..<index
        return index + 2
    }
}
