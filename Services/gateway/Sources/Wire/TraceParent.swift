import GatehouseBytes

/// The value of `traceparent`: a request's position in a distributed trace (W3C Trace Context), written as version 00.
struct TraceParent: Equatable, Sendable {
    /// The trace's identifier, of which at least one bit is set.
    var high: UInt64
    var low: UInt64
    /// The caller's span; 0 where the trace begins here.
    var parent: UInt64
    var flags: UInt8

    /// The length of the field's value in version 00, with which later versions begin.
    static let length = 55

    init(high: UInt64, low: UInt64, parent: UInt64 = 0, flags: UInt8) {
        self.high = high
        self.low = low
        self.parent = parent
        self.flags = flags
    }

    /// Reads `00-<trace>-<parent>-<flags>`, and in later versions anything after a further dash (§3.2.4); `nil` for
    /// anything else. Version `ff` is invalid.
    init?(_ value: UnsafeRawBufferPointer) {
        let dash = UInt8(ascii: "-")
        guard value.count >= Self.length, value[2] == dash, value[35] == dash, value[52] == dash,
            let version = Self.number(value[0..<2]), version != 0xFF,
            value.count == Self.length || (version > 0 && value[Self.length] == dash),
            let high = Self.number(value[3..<19]), let low = Self.number(value[19..<35]), high | low != 0,
            let parent = Self.number(value[36..<52]), parent != 0, let flags = Self.number(value[53..<55])
        else { return nil }
        self.init(high: high, low: low, parent: parent, flags: UInt8(flags))
    }

    /// Whether the caller records the trace.
    var isSampled: Bool { flags & 1 == 1 }

    private static func number(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            // Only lower case is allowed.
            guard let value = Hexadecimal.value(digit), digit.lowercased == digit else { return nil }
            number = number << 4 | UInt64(value)
        }
        return number
    }

    /// Writes the value with the gateway's span as parent.
    func write(to writer: inout ByteWriter, span: UInt64) {
        writer.write("00-")
        writer.write(hexadecimal: high)
        writer.write(hexadecimal: low)
        writer.write("-")
        writer.write(hexadecimal: span)
        writer.write(isSampled ? "-01" : "-00")
    }

    /// The trace's identifier in 32 digits, as in logs.
    var traceID: String { Hexadecimal.string(high) + Hexadecimal.string(low) }
}
