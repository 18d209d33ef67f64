public import AsyncHTTPClient
public import NIOCore
public import NIOHTTP1

extension HTTPClient {
    /// Sends a request and reads the whole answer, all of it before `deadline`.
    ///
    /// AsyncHTTPClient's own deadlines end with the answer's head. Behind it an answer may stall, drip, or hold bytes
    /// that are no body: whoever merely collects the body waits for ever.
    /// When the deadline passes, or the task is cancelled, the connection is closed.
    ///
    /// - Parameter limit: bytes of the body at most.
    /// - Throws: `HTTPClientError.deadlineExceeded`; `NIOTooManyBytesError`, for a longer body;
    ///   ``AnswerOverheadExceeded``, with ``AsyncHTTPClient/HTTPClient/Configuration/gatehouse()``; `CancellationError`;
    ///   whatever else the connection brings.
    public func exchange(
        _ request: HTTPClientRequest, upTo limit: Int, before deadline: Deadline
    ) async throws -> WholeAnswer {
        guard !deadline.hasPassed else { throw HTTPClientError.deadlineExceeded }
        return try await withThrowingTaskGroup(of: WholeAnswer.self) { group in
            group.addTask {
                let response = try await self.execute(request, deadline: .distantFuture)
                let body = try await response.body.collect(upTo: limit)
                // A body that was cut off by the end of the task may look like a whole one.
                try _Concurrency.Task.checkCancellation()
                return WholeAnswer(status: Int(response.status.code), headers: response.headers, body: body)
            }
            group.addTask {
                try await _Concurrency.Task.sleep(until: deadline.instant, clock: .continuous)
                throw HTTPClientError.deadlineExceeded
            }
            defer { group.cancelAll() }
            return try await group.next()!
        }
    }
}

/// An answer of which everything has come.
public struct WholeAnswer: Sendable {
    public var status: Int
    public var headers: HTTPHeaders
    public var body: ByteBuffer
}
