public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

// Requests of the app's own in the user's name.
extension GatehouseClient {
    /// Sends a request with the user's bearer, and returns the response whatever its status.
    ///
    /// A bearer that has expired is renewed first, one that the server refuses is renewed and the request sent once
    /// more. What met trouble on the way is sent again as ``RetryPolicy`` says.
    ///
    /// - Parameters:
    ///   - request: to the base URL's origin or one of the configuration's `bearerHosts`.
    ///   - isRepeatable: whether the server does the same for one request as for two of its kind; by default what HTTP
    ///     says of the method.
    /// - Throws: `misuse` for another server; `offline`, `timedOut`, `unavailable` where there was no response;
    ///   `signedOut`, `sessionEnded`, `locked`, `storage` where there is no bearer; `cancelled`.
    public func data(
        for request: URLRequest, isRepeatable: Bool? = nil
    ) async throws(GatehouseError) -> (Data, HTTPURLResponse) {
        let transport = configuration.transport
        let exchange = try await authorised(request, isRepeatable: isRepeatable) { try await transport.send($0) }
        return (exchange.body, exchange.response)
    }

    /// Calls an endpoint with the user's bearer, and reads what it answers.
    ///
    /// - Throws: as ``data(for:isRepeatable:)``; and what the server's refusal says where the status is none of 2xx. A 401
    ///   that is not about the bearer is `forbidden`: whoever asks is signed in.
    public func send<Response: Sendable>(_ endpoint: Endpoint<Response>) async throws(GatehouseError) -> Response {
        let request = try endpoint.request(below: configuration.baseURL)
        let transport = configuration.transport
        let exchange = try await authorised(request, isRepeatable: endpoint.isRepeatable) {
            try await transport.send($0)
        }
        guard (200..<300).contains(exchange.response.statusCode) else {
            throw refusal(exchange.response, exchange.body)
        }
        do {
            return try endpoint.read(exchange.body)
        } catch {
            throw GatehouseError.unreadable(exchange, as: Response.self)
        }
    }
}
