import Foundation

/// Reads an event stream piece by piece (WHATWG HTML, "Server-sent events", 9.2.6).
struct EventStreamParser: Sendable {
    /// A line or an event is longer than anybody means.
    struct TooLong: Error {}

    /// Bytes; also of the data that an event has gathered.
    static let longest = 1 << 20

    private var line: [UInt8] = []
    /// A line feed that follows belongs to the line's end that has been seen.
    private var endedWithCarriageReturn = false
    private var isFirstLine = true

    private var event = ""
    private var data: [UInt8] = []
    private var hasData = false
    private var id: String?
    private var retry: Duration?

    /// - Returns: the events that are complete now. One that the stream leaves incomplete is none.
    mutating func consume(_ piece: some Sequence<UInt8>) throws(TooLong) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        for byte in piece {
            let followsCarriageReturn = endedWithCarriageReturn
            endedWithCarriageReturn = byte == UInt8(ascii: "\r")
            switch byte {
            case UInt8(ascii: "\n") where followsCarriageReturn: break
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                if let event = endLine() { events.append(event) }
            default:
                guard line.count + data.count < Self.longest else { throw TooLong() }
                line.append(byte)
            }
        }
        return events
    }

    private mutating func endLine() -> ServerSentEvent? {
        defer {
            line.removeAll(keepingCapacity: true)
            isFirstLine = false
        }
        if isFirstLine, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        guard !line.isEmpty else { return dispatch() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        take(field: String(decoding: line[..<colon], as: UTF8.self), value: value)
        return nil
    }

    private mutating func take(field: String, value: ArraySlice<UInt8>) {
        switch field {
        case "event": event = String(decoding: value, as: UTF8.self)
        case "data":
            if hasData { data.append(UInt8(ascii: "\n")) }
            hasData = true
            data += value
        case "id" where !value.contains(0): id = String(decoding: value, as: UTF8.self)
        case "retry" where value.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }):
            if let milliseconds = Int32(String(decoding: value, as: UTF8.self)) { retry = .milliseconds(milliseconds) }
        // Comments, whose field has no name, and fields of tomorrow.
        default: break
        }
    }

    private mutating func dispatch() -> ServerSentEvent? {
        defer {
            event = ""
            data.removeAll(keepingCapacity: true)
            hasData = false
        }
        guard hasData else { return nil }
        return ServerSentEvent(
            event: event.isEmpty ? "message" : event, data: String(decoding: data, as: UTF8.self),
            id: id.flatMap { $0.isEmpty ? nil : $0 }, retry: retry)
    }
}
