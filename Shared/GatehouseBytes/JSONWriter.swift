/// Writes JSON (RFC 8259) without white space, in the order given.
public struct JSONWriter: Sendable {
    /// The bytes written so far.
    public private(set) var bytes: [UInt8] = []

    /// - Parameter capacity: the number of bytes to reserve.
    public init(capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    /// The bytes written, followed by a line feed.
    public consuming func asLine() -> [UInt8] {
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }

    /// Writes an object with the members that `members` writes.
    public mutating func object(_ members: (inout JSONWriter) -> Void) {
        bytes.append(UInt8(ascii: "{"))
        members(&self)
        bytes.append(UInt8(ascii: "}"))
    }

    /// Writes a member whose value is a text.
    public mutating func member(_ name: String, _ value: String) {
        begin(name)
        string(value)
    }

    /// Writes a member whose value is an integer.
    public mutating func member(_ name: String, _ value: Int64) {
        begin(name)
        bytes.append(contentsOf: String(value).utf8)
    }

    /// Writes a member whose value is a finite number.
    public mutating func member(_ name: String, number value: Double) {
        begin(name)
        bytes.append(contentsOf: "\(value)".utf8)
    }

    /// Writes a member whose value is `true` or `false`.
    public mutating func member(_ name: String, _ value: Bool) {
        begin(name)
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    /// Writes a member whose value is an object with the members that `members` writes.
    public mutating func member(_ name: String, object members: (inout JSONWriter) -> Void) {
        begin(name)
        object(members)
    }

    /// Writes a member whose value is an array of texts.
    public mutating func member(_ name: String, _ values: [String]) {
        member(name, values) { $0.string($1) }
    }

    /// Writes a member whose value is an array. `write` writes each element.
    public mutating func member<Element>(
        _ name: String, _ elements: [Element], write: (inout JSONWriter, Element) -> Void
    ) {
        begin(name)
        bytes.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            write(&self, element)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private mutating func begin(_ name: String) {
        if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
        string(name)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func string(_ value: String) {
        bytes.append(UInt8(ascii: "\""))
        if value.utf8.contains(where: Self.needsEscape) {
            for byte in value.utf8 { escaped(byte) }
        } else {
            bytes.append(contentsOf: value.utf8)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func escaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case 0..<0x20: bytes.append(contentsOf: "\\u00\(Hexadecimal.string(CollectionOfOne(byte)))".utf8)
        default: bytes.append(byte)
        }
    }
}
