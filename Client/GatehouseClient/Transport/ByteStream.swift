import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Hands on the body of a response as it comes.
final class ByteStream: NSObject, URLSessionDataDelegate {
    /// As many pieces wait for a reader; one more, and the stream ends with an error.
    static let mostWaiting = 4096

    private let heads: AsyncThrowingStream<URLResponse, any Error>.Continuation
    private let pieces: AsyncThrowingStream<Data, any Error>.Continuation

    private init(
        heads: AsyncThrowingStream<URLResponse, any Error>.Continuation,
        pieces: AsyncThrowingStream<Data, any Error>.Continuation
    ) {
        self.heads = heads
        self.pieces = pieces
    }

    /// Sends `request`, and returns when the response's head is there. Whoever drops the pieces ends the request.
    ///
    /// In a session of its own: on Linux Foundation asks a session's delegate alone for the pieces of a body.
    static func open(
        _ request: URLRequest, as configuration: URLSessionConfiguration, in exchange: URLExchange
    ) async throws -> (AsyncThrowingStream<Data, any Error>, URLResponse) {
        let (heads, head) = AsyncThrowingStream.makeStream(of: URLResponse.self, throwing: (any Error).self)
        let (pieces, piece) = AsyncThrowingStream.makeStream(
            of: Data.self, throwing: (any Error).self, bufferingPolicy: .bufferingOldest(mostWaiting))
        let session = URLSession(
            configuration: configuration, delegate: ByteStream(heads: head, pieces: piece), delegateQueue: nil)
        let task = session.dataTask(with: request)
        piece.onTermination = { _ in task.cancel() }
        exchange.start(task)
        session.finishTasksAndInvalidate()
        for try await response in heads { return (pieces, response) }
        // The heads end without one where this task is cancelled, or the server said nothing.
        task.cancel()
        throw URLError(Task.isCancelled ? .cancelled : .badServerResponse)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        heads.yield(response)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        if case .dropped = pieces.yield(data) {
            pieces.finish(throwing: URLError(.dataLengthExceedsMaximum))
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        heads.finish(throwing: error)
        pieces.finish(throwing: error)
    }
}
