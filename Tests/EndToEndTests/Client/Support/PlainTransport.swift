import Foundation
import GatehouseClient
import TestKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A transport without `URLSession`, for connections that break anywhere: on Linux, Foundation 6.3 ends the process
/// ("Transfer completed, but there's no response") where one does between a response's status line and the end of its
/// head.
struct PlainTransport: GatehouseTransport {
    private static let fields = ["Content-Type", "Date", "Retry-After", "X-Request-Id"]

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        guard let url = request.url, let origin = URL(string: "/", relativeTo: url) else { throw URLError(.badURL) }
        do {
            let response = try await TestHTTPClient(origin.absoluteURL).send(
                request.httpMethod ?? "GET", url.path, headers: request.allHTTPHeaderFields ?? [:],
                body: request.httpBody)
            let fields = Self.fields.compactMap { name in response.header(name).map { (name, $0) } }
            guard
                let answer = HTTPURLResponse(
                    url: url, statusCode: response.status, httpVersion: "HTTP/1.1",
                    headerFields: Dictionary(fields) { first, _ in first })
            else { throw URLError(.badServerResponse) }
            return (response.body, answer)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw URLError(.networkConnectionLost)
        }
    }
}
