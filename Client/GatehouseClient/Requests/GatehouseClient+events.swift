#if canImport(FoundationNetworking)
    import Foundation
    public import FoundationNetworking
#else
    public import Foundation
#endif

extension GatehouseClient {
    /// As many events wait for whoever reads them; one more, and the stream ends with an error.
    static let mostWaitingEvents = 1024

    /// The events of a stream (`text/event-stream`), asked for with the user's bearer.
    ///
    /// The stream ends when the server ends it, and throws a ``GatehouseError`` when the connection is lost; whoever
    /// asks again says in `Last-Event-ID` where it ended. The request's `timeoutInterval` is how long the server may be
    /// silent: servers send comments meanwhile. Ending the iteration ends the request.
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
        let transport = configuration.transport
        var pieces: AsyncThrowingStream<Data, any Error>?
        let exchange = try await authorised(request) { request in
            // Those of an earlier response are dropped, and the response with them.
            pieces = nil
            let (newPieces, response) = try await transport.stream(request)
            // It says whether a new bearer helps.
            guard response.statusCode != 401 else { return (try await Self.problem(in: newPieces), response) }
            pieces = newPieces
            return (Data(), response)
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

    /// As much of a refusal as can be a problem document.
    private static func problem(in pieces: AsyncThrowingStream<Data, any Error>) async throws -> Data {
        var body = Data()
        for try await piece in pieces {
            body += piece
            if body.count > ProblemBody.maximumBytes { break }
        }
        return body
    }
}
