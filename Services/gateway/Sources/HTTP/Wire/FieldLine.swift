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
