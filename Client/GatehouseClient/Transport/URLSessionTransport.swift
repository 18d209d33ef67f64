public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// Sends requests by `URLSession`. It keeps nothing: no cookies, no cache, no credentials.
///
/// Redirections are followed within an origin, five at most; to another origin only a GET or HEAD is, and without the
/// bearer. Where one is not followed, the caller gets the response that asked for it.
public struct URLSessionTransport: Transport {
    private let connection: Connection
    private let exchanges: Deadlines
    private let transfers: Deadlines

    /// - Parameters:
    ///   - limit: how long a whole exchange may take, redirections included; of a stream, until its head is there. The
    ///     request's own `timeoutInterval` is how long nothing may come.
    ///   - transferLimit: the same for uploads and downloads of files.
    ///   - clock: by which the limits are measured.
    public init(
        limit: Duration = .seconds(30), transferLimit: Duration = .seconds(3600),
        clock: any SessionClock = SystemClock()
    ) {
        connection = Connection()
        exchanges = Deadlines(limit: limit, clock: clock)
        transfers = Deadlines(limit: transferLimit, clock: clock)
    }

    public func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        try await within(exchanges) { exchange in
            try await following(request, discard: { _ in }) { request in
                try await exchange.result {
                    connection.session.dataTask(with: request, completionHandler: $0)
                }
            }
        }
    }

    /// A redirection is never followed: the response that asks for it is the answer.
    public func upload(_ request: URLRequest, fromFile file: URL) async throws -> (Data, HTTPURLResponse) {
        try await within(transfers) { exchange in
            let (data, response) = try await exchange.result {
                connection.session.uploadTask(with: request, fromFile: file, completionHandler: $0)
            }
            return (data, try response.http)
        }
    }

    public func download(_ request: URLRequest) async throws -> (URL, HTTPURLResponse) {
        try await within(transfers) { exchange in
            try await following(request, discard: { try? FileManager.default.removeItem(at: $0) }) { request in
                try await exchange.result { completion in
                    connection.session.downloadTask(with: request) { file, response, error in
                        do {
                            completion(try file.map(Self.keep), response, error)
                        } catch {
                            completion(nil, response, error)
                        }
                    }
                }
            }
        }
    }

    public func stream(_ request: URLRequest) async throws -> (AsyncThrowingStream<Data, any Error>, HTTPURLResponse) {
        try await within(exchanges) { exchange in
            // Whoever drops the pieces of a response cancels it.
            try await following(request, discard: { _ in }) {
                try await ByteStream.open($0, as: connection.session.configuration, in: exchange)
            }
        }
    }

    public func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask {
        connection.session.webSocketTask(with: request)
    }

    /// Moves `file`, which is removed as soon as its task's handler returns.
    private static func keep(_ file: URL) throws -> URL {
        let kept = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.moveItem(at: file, to: kept)
        return kept
    }

    private func within<Value: Sendable>(
        _ deadlines: Deadlines, _ body: (URLExchange) async throws -> Value
    ) async throws -> Value {
        do {
            return try await URLExchange.run(within: deadlines, body)
        } catch {
            // On Linux Foundation has no word for a response that was cut off.
            throw GatehouseError.networkCode(of: error) == .unknown ? URLError(.networkConnectionLost) : error
        }
    }

    private func following<Body: Sendable>(
        _ first: URLRequest, discard: (Body) -> Void, send: (URLRequest) async throws -> (Body, URLResponse)
    ) async throws -> (Body, HTTPURLResponse) {
        var request = first
        for _ in 0...Redirection.most {
            let (body, answer) = try await send(request)
            let response = try answer.http
            guard let next = Redirection.next(after: request, response) else { return (body, response) }
            discard(body)
            request = next
        }
        throw URLError(.httpTooManyRedirects)
    }
}

extension URLSessionTransport {
    /// The session, which lives as long as somebody can use it.
    private final class Connection: Sendable {
        let session: URLSession

        init() {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpCookieStorage = nil
            configuration.httpShouldSetCookies = false
            configuration.httpCookieAcceptPolicy = .never
            configuration.urlCache = nil
            configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
            configuration.urlCredentialStorage = nil
            #if canImport(Darwin)
                configuration.tlsMinimumSupportedProtocolVersion = .TLSv12
            #endif
            session = URLSession(configuration: configuration, delegate: UnfollowedRedirections(), delegateQueue: nil)
        }

        deinit { session.finishTasksAndInvalidate() }
    }
}

/// Leaves redirections to ``Redirection``, which knows where credentials may go.
private final class UnfollowedRedirections: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}

extension URLResponse {
    /// - Throws: where an address that is none of HTTP was answered.
    fileprivate var http: HTTPURLResponse {
        get throws {
            guard let response = self as? HTTPURLResponse else { throw URLError(.badServerResponse) }
            return response
        }
    }
}

/// A request and all that it is redirected to, which can be given up at any moment from anywhere.
final class URLExchange: Sendable {
    private enum State {
        /// The task that runs now: there is one for each redirection.
        case running(URLSessionTask?)
        case over(URLError.Code)
    }

    private let state = Locked(State.running(nil))

    /// Runs `body` until it ends, the time is up or the caller's task is cancelled.
    ///
    /// - Throws: what `body` throws, or `URLError.timedOut`.
    static func run<Value: Sendable>(
        within deadlines: Deadlines, _ body: (URLExchange) async throws -> Value
    ) async throws -> Value {
        let exchange = URLExchange()
        let number = deadlines.begin { exchange.end(as: .timedOut) }
        defer { deadlines.end(number) }
        return try await withTaskCancellationHandler {
            do {
                return try await body(exchange)
            } catch {
                // A task that was given up says that it was cancelled, whatever the reason.
                throw exchange.end.map { URLError($0) } ?? error
            }
        } onCancel: {
            exchange.end(as: .cancelled)
        }
    }

    /// Starts the task that `make` returns, and waits for what it tells its completion handler.
    func result<Body: Sendable>(
        of make: (@escaping @Sendable (Body?, URLResponse?, (any Error)?) -> Void) -> URLSessionTask
    ) async throws -> (Body, URLResponse) {
        try await withCheckedThrowingContinuation { continuation in
            start(
                make { body, response, error in
                    guard let body, let response else {
                        continuation.resume(throwing: error ?? URLError(.badServerResponse))
                        return
                    }
                    continuation.resume(returning: (body, response))
                })
        }
    }

    /// Starts `task`, which ends with the exchange.
    func start(_ task: URLSessionTask) {
        let isOver = state.withLock { state in
            guard case .running = state else { return true }
            state = .running(task)
            return false
        }
        task.resume()
        if isOver { task.cancel() }
    }

    private var end: URLError.Code? {
        state.withLock { if case .over(let code) = $0 { code } else { nil } }
    }

    private func end(as code: URLError.Code) {
        let task = state.withLock { state -> URLSessionTask? in
            guard case .running(let task) = state else { return nil }
            state = .over(code)
            return task
        }
        task?.cancel()
    }
}

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
