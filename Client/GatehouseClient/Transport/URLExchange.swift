import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

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
