public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// Sends requests with `URLSession`. It stores no cookies, no cache and no credentials.
///
/// Redirects are followed within an origin, at most five. To another origin, only a GET or HEAD is followed, without
/// the bearer. If a redirect is not followed, the caller gets the redirect response.
public struct URLSessionTransport: GatehouseTransport {
    let connection: Connection
    private let exchanges: Deadlines
    private let transfers: Deadlines

    /// ```swift
    /// let configuration = URLSessionConfiguration.ephemeral
    /// configuration.protocolClasses = [RecordedResponses.self]
    /// let transport = URLSessionTransport(configuration: configuration, delegate: PinnedCertificates())
    /// ```
    ///
    /// - Parameters:
    ///   - configuration: the app's own proxies, `URLProtocol` classes and the like. The transport copies it, and
    ///     disables cookies, caches and stored credentials in the copy. A background configuration ends the process:
    ///     the system transfers only files for it, without the transport's completion handlers.
    ///   - delegate: receives the authentication challenges of the session
    ///     (`urlSession(_:didReceive:completionHandler:)`), for example to pin the server's certificate. The transport
    ///     calls no other method of it.
    ///   - limit: the time limit of a whole exchange, redirects included; for a stream, until its head has arrived. The
    ///     request's own `timeoutInterval` limits the time without data.
    ///   - transferLimit: the same limit for uploads and downloads of files.
    ///   - clock: measures the limits.
    public init(
        configuration: URLSessionConfiguration = .ephemeral, delegate: (any URLSessionDelegate)? = nil,
        limit: Duration = .seconds(30), transferLimit: Duration = .seconds(3600),
        clock: any SessionClock = SystemClock()
    ) {
        // A precondition has no message in a release build.
        guard configuration.identifier == nil else {
            fatalError(
                """
                URLSessionTransport cannot use a background configuration: requests need completion handlers. Use \
                .ephemeral or .default, and a URLSession of your own for background transfers.
                """)
        }
        connection = Connection(configuration, Challenges(delegate: delegate))
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

    /// Never follows a redirect: the redirect response is the answer.
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
            // Dropping the pieces of a response cancels it.
            try await following(request, discard: { _ in }) {
                try await ByteStream.open(
                    $0, as: connection.session.configuration, connection.challenges, in: exchange)
            }
        }
    }

    public func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask {
        connection.session.webSocketTask(with: request)
    }

    /// Moves `file`, because Foundation removes it when the task's handler returns.
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
            // On Linux, Foundation reports a truncated response as an unknown error.
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
    /// Owns the `URLSession` and invalidates it with the last copy of the transport.
    final class Connection: Sendable {
        let session: URLSession
        let challenges: Challenges

        init(_ original: URLSessionConfiguration, _ challenges: Challenges) {
            self.challenges = challenges
            let configuration = original.copy() as? URLSessionConfiguration ?? .ephemeral
            configuration.httpCookieStorage = nil
            configuration.httpShouldSetCookies = false
            configuration.httpCookieAcceptPolicy = .never
            configuration.urlCache = nil
            configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
            configuration.urlCredentialStorage = nil
            #if canImport(Darwin)
                if configuration.tlsMinimumSupportedProtocolVersion != .TLSv13 {
                    configuration.tlsMinimumSupportedProtocolVersion = .TLSv12
                }
            #endif
            session = URLSession(
                configuration: configuration, delegate: UnfollowedRedirections(challenges), delegateQueue: nil)
        }

        deinit { session.finishTasksAndInvalidate() }
    }
}

/// Forwards the authentication challenges of a session to the app's delegate.
struct Challenges: Sendable {
    typealias Completion = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    let delegate: (any URLSessionDelegate)?

    func forward(_ challenge: URLAuthenticationChallenge, of session: URLSession, _ completion: @escaping Completion) {
        #if canImport(ObjectiveC)
            // The method is optional in Objective-C.
            let answer: Void? = delegate?.urlSession?(session, didReceive: challenge, completionHandler: completion)
            if answer == nil { completion(.performDefaultHandling, nil) }
        #else
            guard let delegate else { return completion(.performDefaultHandling, nil) }
            delegate.urlSession(session, didReceive: challenge, completionHandler: completion)
        #endif
    }
}

/// Leaves redirects to ``Redirection``, which decides where credentials may go.
final class UnfollowedRedirections: NSObject, URLSessionTaskDelegate {
    private let challenges: Challenges

    init(_ challenges: Challenges) { self.challenges = challenges }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        challenges.forward(challenge, of: session, completionHandler)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}

extension URLResponse {
    /// - Throws: if the response is not one of HTTP.
    fileprivate var http: HTTPURLResponse {
        get throws {
            guard let response = self as? HTTPURLResponse else { throw URLError(.badServerResponse) }
            return response
        }
    }
}

/// A request and its redirects, which can be cancelled at any time from any thread.
final class URLExchange: Sendable {
    private enum State {
        /// The current task. Each redirect has its own.
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
                // A cancelled task reports `cancelled`, whatever the reason.
                throw exchange.end.map { URLError($0) } ?? error
            }
        } onCancel: {
            exchange.end(as: .cancelled)
        }
    }

    /// Starts the task that `make` returns and waits for its completion handler.
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

    /// Starts `task`, which is cancelled when the exchange ends.
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

/// Forwards the body of a response piece by piece.
final class ByteStream: NSObject, URLSessionDataDelegate {
    /// The limit of unread pieces. One more ends the stream with an error.
    static let mostWaiting = 4096

    private let challenges: Challenges
    private let heads: AsyncThrowingStream<URLResponse, any Error>.Continuation
    private let pieces: AsyncThrowingStream<Data, any Error>.Continuation

    private init(
        _ challenges: Challenges, heads: AsyncThrowingStream<URLResponse, any Error>.Continuation,
        pieces: AsyncThrowingStream<Data, any Error>.Continuation
    ) {
        self.challenges = challenges
        self.heads = heads
        self.pieces = pieces
    }

    /// Sends `request` and returns when the response's head has arrived. Dropping the pieces cancels the request.
    ///
    /// Each stream has its own session: on Linux, Foundation delivers the pieces of a body only to a session's
    /// delegate.
    static func open(
        _ request: URLRequest, as configuration: URLSessionConfiguration, _ challenges: Challenges,
        in exchange: URLExchange
    ) async throws -> (AsyncThrowingStream<Data, any Error>, URLResponse) {
        let (heads, head) = AsyncThrowingStream.makeStream(of: URLResponse.self, throwing: (any Error).self)
        let (pieces, piece) = AsyncThrowingStream.makeStream(
            of: Data.self, throwing: (any Error).self, bufferingPolicy: .bufferingOldest(mostWaiting))
        let session = URLSession(
            configuration: configuration, delegate: ByteStream(challenges, heads: head, pieces: piece),
            delegateQueue: nil)
        let task = session.dataTask(with: request)
        piece.onTermination = { _ in task.cancel() }
        exchange.start(task)
        session.finishTasksAndInvalidate()
        for try await response in heads { return (pieces, response) }
        // No head arrived: this task was cancelled, or the server sent no response.
        task.cancel()
        throw URLError(Task.isCancelled ? .cancelled : .badServerResponse)
    }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        challenges.forward(challenge, of: session, completionHandler)
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
