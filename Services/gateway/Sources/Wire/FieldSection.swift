/// The field lines of a head or of a trailer section, and the values of the fields about framing.
///
/// One instance is reused for all messages, so that scanning allocates nothing.
struct FieldSection: Sendable {
    private(set) var lines: [FieldLine] = []
    /// The index in `lines` of the only field of that name; `nil` when the field is missing.
    private(set) var host: Int?
    private(set) var authorization: Int?
    private(set) var requestID: Int?
    /// `nil` also where several exist, because none of them may then be trusted (W3C Trace Context §3.2).
    private(set) var traceparent: Int?
    private(set) var expect: Int?
    /// `Expect` has another value than `100-continue`.
    private(set) var hasUnknownExpectation = false
    private(set) var maxForwards: Int?
    private(set) var hasSeveralMaxForwards = false
    private(set) var upgrade: Int?
    private(set) var origin: Int?
    private(set) var contentLength: Int?
    private(set) var isChunked = false
    /// More than one `Authorization`.
    private(set) var hasSeveralAuthorizations = false
    private var hasSeveralUpgrades = false
    private var traceparents = 0
    /// The options of `Connection` that the gateway acts on.
    private(set) var hasCloseOption = false
    private(set) var hasKeepAliveOption = false
    private var hasUpgradeOption = false
    /// The number of `Connection` options that name other fields, and the length of all values of `Connection`.
    private var connectionOptions = 0
    private var connectionBytes = 0

    /// Whether `Connection` names other fields.
    var hasConnectionOptions: Bool { connectionOptions > 0 }

    private let limits: HeadLimits

    init(limits: HeadLimits = .received) {
        self.limits = limits
        lines.reserveCapacity(32)
    }

    /// Scans field lines from `start` up to and with the empty line.
    ///
    /// - Returns: the offset after the empty line; `nil` when the bytes end before it.
    mutating func scan(_ bytes: UnsafeRawBufferPointer, from start: Int) throws(HeadFault) -> Int? {
        lines.removeAll(keepingCapacity: true)
        host = nil
        authorization = nil
        requestID = nil
        traceparent = nil
        traceparents = 0
        expect = nil
        hasUnknownExpectation = false
        maxForwards = nil
        hasSeveralMaxForwards = false
        upgrade = nil
        origin = nil
        contentLength = nil
        isChunked = false
        hasSeveralAuthorizations = false
        hasSeveralUpgrades = false
        hasCloseOption = false
        hasKeepAliveOption = false
        hasUpgradeOption = false
        connectionOptions = 0
        connectionBytes = 0

        let token = Self.tokenBytes
        let count = min(bytes.count, limits.mostBytes)
        var index = start
        while true {
            guard index < count else { return try incomplete(bytes) }
            if bytes[index] == .carriageReturn {
                guard index + 1 < count else { return try incomplete(bytes) }
                guard bytes[index + 1] == .lineFeed else { throw .malformed("CR without LF") }
                return index + 2
            }
            let lineStart = index
            while index < count, token.contains(bytes[index]) { index += 1 }
            guard index < count else { return try incomplete(bytes) }
            // A space before the colon, a folded line and a bare LF are all refused here.
            guard bytes[index] == .colon, index > lineStart else { throw .malformed("field name") }
            let nameEnd = index
            index += 1
            while index < count, bytes[index].isBlank { index += 1 }
            let valueStart = index
            index = Self.endOfValue(bytes, from: index, to: count)
            guard index < count else { return try incomplete(bytes) }
            guard bytes[index] == .carriageReturn else { throw .malformed("field value") }
            guard index + 1 < count else { return try incomplete(bytes) }
            guard bytes[index + 1] == .lineFeed else { throw .malformed("CR without LF") }
            var valueEnd = index
            while valueEnd > valueStart, bytes[valueEnd - 1].isBlank { valueEnd -= 1 }
            index += 2
            guard lines.count < limits.mostFields else { throw .tooLarge }
            let name = FieldName(UnsafeRawBufferPointer(rebasing: bytes[lineStart..<nameEnd]))
            let line = FieldLine(
                start: UInt16(lineStart), nameEnd: UInt16(nameEnd), valueStart: UInt16(valueStart),
                valueEnd: UInt16(valueEnd), end: UInt16(index), name: name)
            if name != .other { try note(line, in: bytes) }
            lines.append(line)
        }
    }

    private func incomplete(_ bytes: UnsafeRawBufferPointer) throws(HeadFault) -> Int? {
        guard bytes.count < limits.mostBytes else { throw .tooLarge }
        return nil
    }

    private mutating func note(_ line: FieldLine, in bytes: UnsafeRawBufferPointer) throws(HeadFault) {
        let value = UnsafeRawBufferPointer(rebasing: bytes[line.value])
        let index = lines.count
        switch line.name {
        case .host:
            guard host == nil else { throw .malformed("several Host fields") }
            guard value.count <= HeadLimits.host, HostField.isValid(value) else { throw .malformed("Host") }
            host = index
        case .contentLength:
            guard contentLength == nil, !isChunked else { throw .malformed("framing said twice") }
            contentLength = try Self.length(value)
        case .transferEncoding:
            guard contentLength == nil, !isChunked else { throw .malformed("framing said twice") }
            guard value.equalsFolded("chunked") else { throw .malformed("transfer coding") }
            isChunked = true
        case .connection: try noteConnection(value)
        case .authorization:
            if authorization != nil { hasSeveralAuthorizations = true }
            authorization = index
        case .requestID: requestID = index
        case .traceparent:
            traceparents += 1
            traceparent = traceparents == 1 ? index : nil
        case .expect:
            expect = index
            let expectations = Array(ListMembers(value))
            if expectations.isEmpty || !expectations.allSatisfy({ $0.equalsFolded("100-continue") }) {
                hasUnknownExpectation = true
            }
        case .maxForwards:
            if maxForwards != nil { hasSeveralMaxForwards = true }
            maxForwards = index
        case .origin: origin = index
        case .upgrade:
            if upgrade != nil { hasSeveralUpgrades = true }
            upgrade = index
        default: break
        }
    }

    private mutating func noteConnection(_ value: UnsafeRawBufferPointer) throws(HeadFault) {
        if value.equalsFolded("keep-alive") {
            hasKeepAliveOption = true
            return
        }
        connectionBytes += value.count
        guard connectionBytes <= HeadLimits.connectionBytes else { throw .malformed("Connection") }
        for option in ListMembers(value) {
            guard Self.tokenBytes.containsAll(option) else { throw .malformed("Connection") }
            if option.equalsFolded("close") {
                hasCloseOption = true
            } else if option.equalsFolded("keep-alive") {
                hasKeepAliveOption = true
            } else if option.equalsFolded("upgrade") {
                hasUpgradeOption = true
            } else {
                connectionOptions += 1
                guard connectionOptions <= HeadLimits.connectionOptions else { throw .malformed("Connection") }
            }
        }
    }

    /// Whether a `Connection` field names this line's field, which then concerns one hop only.
    func isNamedByConnection(_ line: FieldLine, in bytes: UnsafeRawBufferPointer) -> Bool {
        let name = UnsafeRawBufferPointer(rebasing: bytes[line.nameRange])
        return lines.contains { other in
            other.name == .connection
                && ListMembers(UnsafeRawBufferPointer(rebasing: bytes[other.value])).contains {
                    $0.equalsFolded(name)
                }
        }
    }

    /// The names of the fields that `Connection` lists, which concern one hop only. They are copied for the trailers,
    /// which arrive when the head is gone.
    func connectionOptions(in bytes: UnsafeRawBufferPointer) -> [[UInt8]] {
        guard hasConnectionOptions else { return [] }
        return lines.filter { $0.name == .connection }.flatMap { line in
            ListMembers(UnsafeRawBufferPointer(rebasing: bytes[line.value])).map(Array.init)
        }
    }

    /// Whether the head requests or confirms an upgrade to WebSocket, and to nothing else (RFC 6455 §4.1).
    func upgradesToWebSocket(in bytes: UnsafeRawBufferPointer) -> Bool {
        guard hasUpgradeOption, let upgrade, !hasSeveralUpgrades else { return false }
        return UnsafeRawBufferPointer(rebasing: bytes[lines[upgrade].value]).equalsFolded("websocket")
    }

    /// Whether one of the fields is `Date`.
    func hasDate(in bytes: UnsafeRawBufferPointer) -> Bool { value(of: "date", in: bytes) != nil }

    /// Whether the body is an event stream according to `Content-Type`.
    func isEventStream(in bytes: UnsafeRawBufferPointer) -> Bool {
        value(of: "content-type", in: bytes).map(Self.beginsWithEventStream) ?? false
    }

    /// Whether the client requests an event stream, as a browser's `EventSource` does with `Accept`.
    func acceptsEventStream(in bytes: UnsafeRawBufferPointer) -> Bool {
        value(of: "accept", in: bytes).map(Self.beginsWithEventStream) ?? false
    }

    private static func beginsWithEventStream(_ type: UnsafeRawBufferPointer) -> Bool {
        let eventStream: StaticString = "text/event-stream"
        let count = eventStream.utf8CodeUnitCount
        guard type.count >= count, UnsafeRawBufferPointer(rebasing: type[..<count]).equalsFolded(eventStream)
        else { return false }
        return type.count == count || type[count] == UInt8(ascii: ";") || type[count] == UInt8(ascii: ",")
            || type[count].isBlank
    }

    /// The value of the first field of a name.
    func value(of name: StaticString, in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        for line in lines where Int(line.nameEnd - line.start) == name.utf8CodeUnitCount {
            guard UnsafeRawBufferPointer(rebasing: bytes[line.nameRange]).equalsFolded(name) else { continue }
            return UnsafeRawBufferPointer(rebasing: bytes[line.value])
        }
        return nil
    }

    /// Copies the lines that `isKept` accepts; adjacent lines in one piece.
    @inline(__always)
    func writeLines(
        of bytes: UnsafeRawBufferPointer, to writer: inout ByteWriter, where isKept: (FieldLine) -> Bool
    ) {
        var run = 0..<0
        for line in lines where isKept(line) {
            if line.line.lowerBound == run.upperBound {
                run = run.lowerBound..<line.line.upperBound
            } else {
                writer.write(UnsafeRawBufferPointer(rebasing: bytes[run]))
                run = line.line
            }
        }
        writer.write(UnsafeRawBufferPointer(rebasing: bytes[run]))
    }

    // MARK: Bytes

    static let tokenBytes = ByteSet(.alphanumeric, "!#$%&'*+-.^_`|~")

    private static func length(_ digits: UnsafeRawBufferPointer) throws(HeadFault) -> Int {
        guard (1...18).contains(digits.count) else { throw .malformed("Content-Length") }
        var length = 0
        for digit in digits {
            guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { throw .malformed("Content-Length") }
            length = length * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return length
    }

    /// The first byte at or after `index` that no field value contains: a control byte other than the tabulator. Bytes
    /// are checked eight at a time where possible.
    @inline(__always)
    static func endOfValue(_ bytes: UnsafeRawBufferPointer, from index: Int, to end: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops: UInt64 = 0x8080_8080_8080_8080
        var index = index
        while index < end {
            if index + 8 <= end {
                let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                let deletes = word ^ (ones &* 0x7F)
                let controls = (word &- ones &* 0x20) & ~word | (deletes &- ones) & ~deletes
                if controls & tops == 0 {
                    index += 8
                    continue
                }
            }
            let byte = bytes[index]
            if byte < 0x20 && byte != .tab || byte == 0x7F { return index }
            index += 1
        }
        return index
    }
}
