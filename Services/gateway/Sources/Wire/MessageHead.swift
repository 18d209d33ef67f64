import Foundation
import GatehouseBytes
import GatehouseServiceContracts

/// The head of a client's request: the offsets of its parts in the scanned bytes.
///
/// The scanner accepts the origin form of HTTP/1.1 requests (RFC 9112), restricted to what every other parser reads the
/// same way.
struct RequestHead: Sendable {
    /// `nil`: a method that no route can name.
    private(set) var method: RequestMethod?
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
        method = RequestMethod(name: UnsafeRawBufferPointer(rebasing: bytes[..<index]))

        index += 1
        let targetStart = index
        let allowed = Self.targetBytes
        // Do not wait for the end of a target that is already too long.
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

/// The head of an upstream's response: the offsets of its parts in the scanned bytes.
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
    var keepsAlive: Bool { !fields.hasCloseOption && (!isVersion10 || fields.hasKeepAliveOption) }

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

/// Why a message is refused. Its connection is closed, because the start of the next message is unknown.
enum HeadFault: Error, Equatable {
    /// The error, for logs and metrics; it contains nothing of the message itself.
    case malformed(String)
    /// Longer than `HeadLimits.bytes`, or more fields than `HeadLimits.fields`.
    case tooLarge
    /// A target longer than `HeadLimits.target`.
    case targetTooLong
    /// A version other than HTTP/1.1.
    case version

    /// The error code for the client.
    var code: ErrorCode {
        switch self {
        case .malformed: .invalidRequest
        case .tooLarge: .headersTooLarge
        case .targetTooLong: .targetTooLong
        case .version: .versionNotSupported
        }
    }

    /// For logs and metrics.
    var reason: String {
        if case .malformed(let reason) = self { "malformed: \(reason)" } else { code.rawValue }
    }
}

/// Caps on the head of a message, and on a chunked body's trailer section.
struct HeadLimits: Sendable {
    /// For heads that clients and upstreams send.
    static let bytes = 16 * 1024
    static let fields = 100
    static let received = HeadLimits(mostBytes: bytes, mostFields: fields)
    /// For heads that the gateway writes: the received head, with its own lines. `FieldLine` counts no further.
    static let written = HeadLimits(mostBytes: Int(UInt16.max), mostFields: 2 * fields)
    /// Path and query.
    static let target = 8 * 1024
    /// The value of `Authorization` after the scheme.
    static let bearer = 8 * 1024
    /// The longest name (RFC 1035), and a port.
    static let host = 255 + 6
    /// The maximum number of options in `Connection`, because each field of a message is compared with each option.
    static let connectionOptions = 16
    static let connectionBytes = 1024

    let mostBytes: Int
    let mostFields: Int
}

/// The value of `Host` (RFC 9112 §3.2): `uri-host [ ":" port ]`.
///
/// Names consist of unreserved bytes only. RFC 3986 §3.2.2 also allows others (`%`, and `!$&'()*+,;=`), but no host
/// name uses them, and services parse them in different ways: a comma in `X-Forwarded-Host` makes two hosts of one.
/// Addresses in brackets are IPv6 without a zone, which has no meaning on another machine.
enum HostField {
    private static let nameBytes = ByteSet(.alphanumeric, "-._~")
    private static let addressBytes = ByteSet(.empty, "0123456789abcdefABCDEF:.")
    /// The longest text of an IPv6 address: six groups, and four bytes in decimals.
    private static let longestAddress = 45

    static func isValid(_ value: UnsafeRawBufferPointer) -> Bool {
        let hostEnd: Int
        if value.first == UInt8(ascii: "[") {
            guard let end = value.firstIndex(of: UInt8(ascii: "]")),
                isIPv6(UnsafeRawBufferPointer(rebasing: value[1..<end]))
            else { return false }
            hostEnd = end + 1
        } else {
            hostEnd = value.firstIndex { !nameBytes.contains($0) } ?? value.count
            guard hostEnd > 0 else { return false }
        }
        guard hostEnd < value.count else { return true }
        return value[hostEnd] == .colon && isPort(value[(hostEnd + 1)...])
    }

    /// An empty port stands for the scheme's default (RFC 3986 §3.2.3).
    private static func isPort(_ digits: Slice<UnsafeRawBufferPointer>) -> Bool {
        guard digits.count <= 5 else { return false }
        var port = 0
        for digit in digits {
            guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return false }
            port = port * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return port <= 65_535
    }

    private static func isIPv6(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count <= longestAddress, addressBytes.containsAll(text) else { return false }
        // Raw bytes in place of `in6_addr`, whose members are visible here or not depending on the order of the build.
        return withUnsafeTemporaryAllocation(byteCount: 16, alignment: 4) { address in
            inet_pton(AF_INET6, String(decoding: text, as: UTF8.self), address.baseAddress) == 1
        }
    }
}
