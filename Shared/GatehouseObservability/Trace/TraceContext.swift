import GatehouseBytes

/// A position in a distributed trace (W3C Trace Context, level 1).
public struct TraceContext: Sendable, Equatable {
    /// 16 bytes as 32 lower-case hexadecimal digits, not all zero.
    public let traceID: String
    /// 8 bytes as 16 lower-case hexadecimal digits, not all zero.
    public let spanID: String
    /// Whether the trace is recorded.
    public let isSampled: Bool

    /// Begins a new trace.
    public init(isSampled: Bool = false) {
        traceID =
            Hexadecimal.string(UInt64.random(in: 1...UInt64.max))
            + Hexadecimal.string(UInt64.random(in: 0...UInt64.max))
        spanID = Hexadecimal.string(UInt64.random(in: 1...UInt64.max))
        self.isSampled = isSampled
    }

    /// Reads a `traceparent` field (§3.2). `nil` for a malformed field: a new trace begins.
    public init?(traceparent: String) {
        let bytes = Array(traceparent.utf8)
        guard bytes.count >= 55, bytes[2] == dash, bytes[35] == dash, bytes[52] == dash,
            let version = Self.byte(bytes[0..<2]), version != 0xff,
            // Version 00 ends here; later ones may go on after another dash (§4.3).
            bytes.count == 55 || (version > 0 && bytes[55] == dash),
            let flags = Self.byte(bytes[53..<55]),
            Self.isIdentifier(bytes[3..<35]), Self.isIdentifier(bytes[36..<52])
        else { return nil }
        traceID = String(decoding: bytes[3..<35], as: UTF8.self)
        spanID = String(decoding: bytes[36..<52], as: UTF8.self)
        isSampled = flags & 1 == 1
    }

    private init(traceID: String, spanID: String, isSampled: Bool) {
        self.traceID = traceID
        self.spanID = spanID
        self.isSampled = isSampled
    }

    /// A new span of the same trace.
    public func child() -> TraceContext {
        TraceContext(
            traceID: traceID, spanID: Hexadecimal.string(UInt64.random(in: 1...UInt64.max)), isSampled: isSampled)
    }

    /// The same position, with this service's own decision whether the trace is recorded.
    public func sampled(_ isSampled: Bool) -> TraceContext {
        TraceContext(traceID: traceID, spanID: spanID, isSampled: isSampled)
    }

    /// The field to send.
    public var traceparent: String {
        "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")"
    }

    private static func isIdentifier(_ digits: ArraySlice<UInt8>) -> Bool {
        digits.allSatisfy { hexadecimalValue($0) != nil } && digits.contains { $0 != UInt8(ascii: "0") }
    }

    private static func byte(_ digits: ArraySlice<UInt8>) -> UInt8? {
        guard let high = hexadecimalValue(digits[digits.startIndex]),
            let low = hexadecimalValue(digits[digits.startIndex + 1])
        else { return nil }
        return high << 4 | low
    }
}

private let dash = UInt8(ascii: "-")

/// Upper-case digits are not valid (§3.2.2.3).
private func hexadecimalValue(_ digit: UInt8) -> UInt8? {
    (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(digit) ? nil : Hexadecimal.value(digit)
}

/// Decides which traces are recorded: as the caller decided, if it is trusted, otherwise a share of them
/// (OpenTelemetry's `ParentBased` over `TraceIdRatioBased`).
public struct TraceSampler: Sendable, Equatable {
    /// The recorded share of all traces, of 2⁶³.
    private let threshold: UInt64

    /// - Parameter percent: the share of the traces for which this process decides, 0 to 100.
    public init(percent: Double) {
        threshold = UInt64(min(max(percent, 0), 100) / 100 * 0x1p63)
    }

    /// - Parameters:
    ///   - parent: whether the caller records the trace; `nil` if the trace begins here.
    ///   - isTrusted: whether the caller may decide.
    ///   - random: uniform over all values. The trace's identifier is unsuitable, because an untrusted caller could
    ///     choose one that is always recorded.
    public func samples(parent: Bool?, isTrusted: Bool, random: UInt64) -> Bool {
        if isTrusted, let parent { return parent }
        return random >> 1 < threshold
    }
}
