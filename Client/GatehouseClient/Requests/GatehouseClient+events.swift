import Foundation

#if canImport(FoundationNetworking)
    import Foundation
    public import FoundationNetworking
#else
    public import Foundation
#endif

extension GatehouseClient {
    /// The limit of unread events. One more ends the stream with an error.
    static let mostWaitingEvents = 1024

    /// Returns the events of a stream (`text/event-stream`), requested with the user's bearer.
    ///
    /// The stream ends when the server ends it, and throws a ``GatehouseError`` when the connection is lost. To resume,
    /// send a new request with the last event's id in `Last-Event-ID`. The request's `timeoutInterval` limits the
    /// server's silence; servers send comments meanwhile. Ending the iteration ends the request.
    public func events(for request: URLRequest) -> AsyncThrowingStream<ServerSentEvent, any Error> {
        let (events, continuation) = AsyncThrowingStream.makeStream(
            of: ServerSentEvent.self, throwing: (any Error).self,
            bufferingPolicy: .bufferingOldest(Self.mostWaitingEvents))
        let reading = Task {
            do {
                try await read(request, to: continuation)
                continuation.finish()
            } catch {
                continuation.finish(throwing: GatehouseError.of(error))
            }
        }
        continuation.onTermination = { _ in reading.cancel() }
        return events
    }

    private func read(
        _ request: URLRequest, to continuation: AsyncThrowingStream<ServerSentEvent, any Error>.Continuation
    ) async throws {
        var request = request
        request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
        request.setValue("no-store", forHTTPHeaderField: "Cache-Control")
        let (transport, final) = (configuration.transport, request)
        let (exchange, pieces) = try await api.withinBudget { deadline throws(GatehouseError) in
            var pieces: AsyncThrowingStream<Data, any Error>?
            let exchange = try await self.authorised(final, by: deadline) { request in
                // Dropping the pieces of an earlier response cancels that response.
                pieces = nil
                let (newPieces, response) = try await transport.stream(request)
                // The body shows whether a new bearer may help.
                guard response.statusCode != 401 else { return (try await Self.problem(in: newPieces), response) }
                pieces = newPieces
                return (Data(), response)
            }
            return (exchange, pieces)
        }
        let response = exchange.response
        guard response.statusCode != 401 else { throw refusal(response, exchange.body) }
        guard let pieces, response.statusCode != 204 else { return }
        let mediaType = response.value(forHTTPHeaderField: "Content-Type")?.lowercased() ?? ""
        guard response.statusCode == 200, mediaType.hasPrefix("text/event-stream") else {
            throw refusal(response, try await Self.problem(in: pieces))
        }
        var parser = EventStreamParser()
        for try await piece in pieces {
            for event in try Self.events(in: piece, by: &parser) {
                guard case .dropped = continuation.yield(event) else { continue }
                throw GatehouseError(.misuse, reason: "more than \(Self.mostWaitingEvents) events wait to be read")
            }
        }
    }

    private static func events(
        in piece: Data, by parser: inout EventStreamParser
    ) throws(GatehouseError) -> [ServerSentEvent] {
        do { return try parser.consume(piece) } catch {
            throw GatehouseError(.server, reason: "an event is longer than \(EventStreamParser.longest) bytes")
        }
    }

    /// Reads an error response, up to the size limit of a problem document.
    private static func problem(in pieces: AsyncThrowingStream<Data, any Error>) async throws -> Data {
        var body = Data()
        for try await piece in pieces {
            body += piece
            if body.count > ProblemBody.maximumBytes { break }
        }
        return body
    }
}

/// Reads an event stream piece by piece (WHATWG HTML, "Server-sent events", 9.2.6).
struct EventStreamParser: Sendable {
    /// A line or an event is longer than ``longest``.
    struct TooLong: Error {}

    /// In bytes: the limit of a line and of an event's collected data.
    static let longest = 1 << 20

    private var line: [UInt8] = []
    /// Whether the last byte was a carriage return. A line feed after it belongs to the same line ending.
    private var endedWithCarriageReturn = false
    private var isFirstLine = true

    private var event = ""
    private var data: [UInt8] = []
    private var hasData = false
    private var id: String?
    private var retry: Duration?

    /// - Returns: the events that `piece` completes. An event that the stream leaves incomplete is dropped.
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
        // Ignore comments, whose field name is empty, and unknown fields.
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

/// One event of an event stream.
public struct ServerSentEvent: Sendable, Equatable {
    /// The event's type; `message` if the server names none.
    public var event: String
    /// The data. Lines are separated by a line feed.
    public var data: String
    /// The last id that the server sent, with this event or an earlier one. Send it in `Last-Event-ID` to resume the
    /// stream.
    public var id: String?
    /// How long to wait before resuming, if the server sent a time.
    public var retry: Duration?

    public init(event: String = "message", data: String, id: String? = nil, retry: Duration? = nil) {
        self.event = event
        self.data = data
        self.id = id
        self.retry = retry
    }
}
