import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Synchronization

extension HTTPClient {
    /// Whether a request of this run was answered 503. A machine that pauses causes one, and the run goes on.
    private static let wasUnavailable = Atomic(false)

    /// Sends the request. The first of a run that is answered 503 is printed and repeated. A second 503 is an answer
    /// like any other, which the benchmark does not expect.
    func executeRepeatingOne503(_ request: HTTPClientRequest, timeout: TimeAmount) async throws -> HTTPClientResponse {
        let response = try await execute(request, timeout: timeout)
        guard response.status == .serviceUnavailable,
            Self.wasUnavailable.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged
        else { return response }
        let body = String(buffer: try await response.body.collect(upTo: 1 << 16))
        Table.note("Repeated, because it was answered 503: \(request.method) \(request.url): \(body)")
        return try await execute(request, timeout: timeout)
    }
}
