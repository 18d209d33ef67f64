/// The header fields that the gateway handles by name.
enum FieldName: UInt8, Sendable {
    case other
    case host
    case contentLength
    case transferEncoding
    case connection
    case authorization
    case expect
    case maxForwards
    case upgrade
    case requestID
    case traceparent
    case tracestate
    case origin
    /// `Access-Control-…`.
    case accessControl
    /// Fields about one hop (RFC 9110 §7.6.1): never forwarded.
    case hopByHop
    /// `X-Forwarded-…` and other fields about the origin of a request: rewritten.
    case forwarded
    /// Fields that would make a service use another method, path or proxy than the verified one: never forwarded.
    case override
    /// `Gatehouse-…`: only Gatehouse sets these.
    case reserved
    /// A name that folds to one above but is spelled differently (`content_length`). Some servers would read it as the
    /// real one, so it is not forwarded.
    case disguised

    private static let known: [(name: StaticString, field: FieldName)] = [
        ("host", .host), ("content-length", .contentLength), ("transfer-encoding", .transferEncoding),
        ("connection", .connection), ("authorization", .authorization), ("expect", .expect),
        ("max-forwards", .maxForwards),
        ("x-request-id", .requestID), ("traceparent", .traceparent), ("tracestate", .tracestate), ("origin", .origin),
        ("keep-alive", .hopByHop), ("proxy-connection", .hopByHop), ("proxy-authorization", .hopByHop),
        ("proxy-authenticate", .hopByHop), ("te", .hopByHop), ("trailer", .hopByHop), ("upgrade", .upgrade),
        ("http2-settings", .hopByHop), ("forwarded", .forwarded), ("x-real-ip", .forwarded),
        ("x-client-ip", .forwarded), ("true-client-ip", .forwarded), ("client-ip", .forwarded),
        ("x-forwarded", .forwarded),
        ("forwarded-for", .forwarded), ("x-cluster-client-ip", .forwarded), ("cf-connecting-ip", .forwarded),
        ("proxy", .override),
        ("x-original-url", .override), ("x-rewrite-url", .override), ("x-http-method-override", .override),
        ("x-method-override", .override), ("x-http-method", .override),
    ]

    /// A bit for every first letter of a known name. Most fields begin with another letter, and need no comparison.
    private static let firstLetters: UInt32 = known.reduce(bit("g") | bit("x")) {
        $0 | 1 << UInt32($1.name.utf8Start.pointee & 31)
    }

    private static func bit(_ letter: Unicode.Scalar) -> UInt32 { 1 << (letter.value & 31) }

    /// Reads a field name that consists of token bytes.
    ///
    /// Names are folded like by servers that map them to variables (CGI, WSGI): case is ignored, and all bytes except
    /// letters and digits count as the same symbol.
    @inline(__always)
    init(_ name: UnsafeRawBufferPointer) {
        guard Self.firstLetters &>> UInt32(name[0] & 31) & 1 == 1 || !isAlphanumeric(name[0]) else {
            self = .other
            return
        }
        self.init(slow: name)
    }

    @inline(never)
    private init(slow name: UnsafeRawBufferPointer) {
        if Self.folds(name, to: "gatehouse-") {
            self = .reserved
            return
        }
        if Self.folds(name, to: "x-forwarded-") {
            self = .forwarded
            return
        }
        if Self.folds(name, to: "access-control-") {
            self = .accessControl
            return
        }
        for (known, field) in Self.known
        where known.utf8CodeUnitCount == name.count && Self.folds(name, to: known) {
            self = Self.hasOtherSymbols(name) ? .disguised : field
            return
        }
        self = .other
    }

    /// Whether `name` begins with `prefix`, which is in lower case, once folded.
    private static func folds(_ name: UnsafeRawBufferPointer, to prefix: StaticString) -> Bool {
        let count = prefix.utf8CodeUnitCount
        guard name.count >= count else { return false }
        let wanted = prefix.utf8Start
        for index in 0..<count {
            if fold(name[index]) != wanted[index] { return false }
        }
        return true
    }

    /// Whether two names are equal for servers that map names to variables.
    static func isSame(_ name: UnsafeRawBufferPointer, as other: [UInt8]) -> Bool {
        name.count == other.count && zip(name, other).allSatisfy { fold($0) == fold($1) }
    }

    @inline(__always)
    private static func fold(_ byte: UInt8) -> UInt8 { isAlphanumeric(byte) ? byte | 0x20 : UInt8(ascii: "-") }

    private static func hasOtherSymbols(_ name: UnsafeRawBufferPointer) -> Bool {
        name.contains { !isAlphanumeric($0) && $0 != UInt8(ascii: "-") }
    }
}

@inline(__always)
private func isAlphanumeric(_ byte: UInt8) -> Bool {
    let letter = byte | 0x20
    return (letter >= UInt8(ascii: "a") && letter <= UInt8(ascii: "z"))
        || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"))
}

/// One field line of a head, as offsets into the bytes that were scanned.
struct FieldLine: Sendable {
    var start: UInt16
    var nameEnd: UInt16
    var valueStart: UInt16
    var valueEnd: UInt16
    /// After the line's CRLF.
    var end: UInt16
    var name: FieldName

    var line: Range<Int> { Int(start)..<Int(end) }
    var nameRange: Range<Int> { Int(start)..<Int(nameEnd) }
    var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }
}
