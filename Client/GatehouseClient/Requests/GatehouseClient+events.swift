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
    /// When the server ends the response or the connection is lost, the client connects again with the last event's id
    /// in `Last-Event-ID`, after the time that the server has set with `retry`, or three seconds. The stream ends with
    /// the status 204. It throws a ``GatehouseError`` if the first connection fails, and later for a refusal that a new
    /// attempt cannot change. If the session is locked when the client connects again, the error is `locked`. A request
    /// whose method is not idempotent is sent once, and its stream ends with the response.
    ///
    /// The request's `timeoutInterval` limits the server's silence; servers send comments meanwhile. Ending the
    /// iteration ends the request.
    public func events(for request: URLRequest) -> AsyncThrowingStream<ServerSentEvent, any Error> {
        let (events, continuation) = AsyncThrowingStream.makeStream(
            of: ServerSentEvent.self, throwing: (any Error).self,
            bufferingPolicy: .bufferingOldest(Self.mostWaitingEvents))
        let reading = Task {
            do {
                try await follow(request, to: continuation)
                continuation.finish()
            } catch {
                continuation.finish(throwing: GatehouseError.of(error))
            }
        }
        continuation.onTermination = { _ in reading.cancel() }
        return events
    }

    private func follow(_ request: URLRequest, to continuation: Events) async throws(GatehouseError) {
        var resumption = EventStreamResumption(
            isIdempotent: GatehouseRetryPolicy.isIdempotent(method: request.httpMethod ?? "GET"),
            lastEventID: request.value(forHTTPHeaderField: "Last-Event-ID"))
        var user: UUID?
        while true {
            var failure: GatehouseError?
            do throws(GatehouseError) {
                // A session that was locked meanwhile is read again, if the store permits.
                try await session.start()
                // The stream is one user's. Another one may have signed in before it connects again. Without a user,
                // the request has no bearer and fails.
                let present = await session.state.user?.id
                if let user, let present, user != present { throw GatehouseError(.sessionEnded) }
                user = user ?? present
                guard try await read(request, to: continuation, &resumption) else { return }
            } catch {
                failure = error
            }
            switch resumption.decision(after: failure, random: configuration.random()) {
            case .finish: return
            case .fail(let error): throw error
            case .reconnect(let pause):
                do { try await configuration.clock.sleep(for: pause) } catch { throw GatehouseError.of(error) }
            }
        }
    }

    private typealias Events = AsyncThrowingStream<ServerSentEvent, any Error>.Continuation

    /// Reads one response.
    ///
    /// - Returns: `false` if the server has ended the stream for good, with the status 204.
    private func read(
        _ request: URLRequest, to continuation: Events, _ resumption: inout EventStreamResumption
    ) async throws(GatehouseError) -> Bool {
        do {
            let response = try await open(request, lastEventID: resumption.lastEventID)
            guard let pieces = response else { return false }
            var parser = EventStreamParser(lastEventID: resumption.lastEventID)
            resumption.opened()
            for try await piece in pieces {
                let events = try Self.events(in: piece, by: &parser)
                resumption.received(lastEventID: parser.lastEventID, retry: parser.retry)
                for event in events {
                    guard case .dropped = continuation.yield(event) else { continue }
                    throw GatehouseError(.misuse, reason: "more than \(Self.mostWaitingEvents) events wait to be read")
                }
            }
            return true
        } catch {
            throw GatehouseError.of(error)
        }
    }

    /// - Returns: the pieces of the response; `nil` for the status 204.
    private func open(
        _ request: URLRequest, lastEventID: String?
    ) async throws -> AsyncThrowingStream<Data, any Error>? {
        var request = request
        request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
        request.setValue("no-store", forHTTPHeaderField: "Cache-Control")
        request.setValue(lastEventID, forHTTPHeaderField: "Last-Event-ID")
        let (transport, final) = (configuration.transport, request)
        let (exchange, pieces) = try await api.withinBudget { deadline throws(GatehouseError) in
            let pieces = Locked<AsyncThrowingStream<Data, any Error>?>(nil)
            let exchange = try await self.authorized(final, by: deadline) { request in
                // Dropping the pieces of an earlier response cancels that response.
                pieces.withLock { $0 = nil }
                let (newPieces, response) = try await transport.stream(request)
                // The body shows whether a new bearer may help.
                guard response.statusCode != 401 else { return (try await Self.problem(in: newPieces), response) }
                pieces.withLock { $0 = newPieces }
                return (Data(), response)
            }
            return (exchange, pieces.withLock { $0 })
        }
        let response = exchange.response
        guard response.statusCode != 401 else { throw refusal(response, exchange.body) }
        guard let pieces, response.statusCode != 204 else { return nil }
        let mediaType = response.value(forHTTPHeaderField: "Content-Type")?.lowercased() ?? ""
        guard response.statusCode == 200, mediaType.hasPrefix("text/event-stream") else {
            throw refusal(response, try await Self.problem(in: pieces))
        }
        return pieces
    }

    private static func events(
        in piece: Data, by parser: inout EventStreamParser
    ) throws(GatehouseError) -> [ServerSentEvent] {
        do { return try parser.consume(piece) } catch {
            throw GatehouseError(.unreadable, reason: "an event is longer than \(EventStreamParser.longest) bytes")
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

/// Decides whether and when a client connects again to an event stream (WHATWG HTML, "Server-sent events", 9.2.3).
struct EventStreamResumption: Sendable {
    enum Decision: Sendable, Equatable {
        /// The app's stream ends.
        case finish
        case fail(GatehouseError)
        /// Wait for this time, then connect.
        case reconnect(Duration)
    }

    /// The longest pause between failed attempts, unless the server has set a longer one.
    static let longestPause = Duration.seconds(30)

    let isIdempotent: Bool
    /// For the header field of the next request.
    private(set) var lastEventID: String?
    /// Set by the server.
    private var pause = Duration.seconds(3)
    private var hasOpened = false
    /// The number of failed attempts since the last response.
    private var failures = 0

    init(isIdempotent: Bool, lastEventID: String? = nil) {
        self.isIdempotent = isIdempotent
        self.lastEventID = lastEventID
    }

    /// The server has answered with an event stream.
    mutating func opened() {
        hasOpened = true
        failures = 0
    }

    mutating func received(lastEventID: String?, retry: Duration?) {
        self.lastEventID = lastEventID
        if let retry { pause = retry }
    }

    /// - Parameters:
    ///   - failure: why the attempt ended; `nil` if the server has ended its response.
    ///   - random: drawn uniformly from 0..<1. It spreads the clients of a server that has restarted.
    mutating func decision(after failure: GatehouseError?, random: Double) -> Decision {
        if let failure, !isIdempotent || !hasOpened || failure.retry == .never { return .fail(failure) }
        guard isIdempotent else { return .finish }
        let longest = max(pause, Self.longestPause)
        let backoff = min(pause * (1 << min(failures, 8)), longest)
        failures += 1
        return .reconnect(max(backoff, failure?.retryAfter ?? .zero) + backoff * (random / 2))
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
    /// The id of the last completed event, for the next request's `Last-Event-ID`. Events without data count.
    private(set) var lastEventID: String?
    private(set) var retry: Duration?

    /// - Parameter lastEventID: the id of the previous response's last event, if the stream is resumed.
    init(lastEventID: String? = nil) {
        id = lastEventID
        self.lastEventID = lastEventID
    }

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
        lastEventID = id.flatMap { $0.isEmpty ? nil : $0 }
        guard hasData else { return nil }
        return ServerSentEvent(
            event: event.isEmpty ? "message" : event, data: String(decoding: data, as: UTF8.self), id: lastEventID,
            retry: retry)
    }
}

/// One event of an event stream.
public struct ServerSentEvent: Sendable, Equatable {
    /// The event's type; `message` if the server names none.
    public var event: String
    /// The data. Lines are separated by a line feed.
    public var data: String
    /// The last id that the server sent, with this event or an earlier one. The client sends it in `Last-Event-ID` when
    /// it connects again.
    public var id: String?
    /// How long the client waits before it connects again, if the server sent a time.
    public var retry: Duration?

    public init(event: String = "message", data: String, id: String? = nil, retry: Duration? = nil) {
        self.event = event
        self.data = data
        self.id = id
        self.retry = retry
    }
}
