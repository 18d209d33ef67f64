#if canImport(FoundationNetworking)
    import Foundation
    public import FoundationNetworking
#else
    public import Foundation
#endif

extension GatehouseClient {
    /// A web socket whose handshake carries the user's bearer. It is opened by `resume()`.
    ///
    /// A socket goes on after its bearer has expired; whoever opens one again asks for a new task. A session that ends
    /// does not close it: see ``SessionCompanion``. On Linux web sockets are there where libcurl was built with them.
    ///
    /// - Parameters:
    ///   - request: `wss://` to a server that is shown the bearer.
    ///   - refused: the task whose handshake the server has refused with 401, so that its bearer is renewed first.
    /// - Throws: as ``data(for:isRepeatable:)``.
    public func webSocketTask(
        for request: URLRequest, after refused: URLSessionWebSocketTask? = nil
    ) async throws(GatehouseError) -> URLSessionWebSocketTask {
        var token = try await bearer(for: request)
        let refusedBearer = refused?.originalRequest?.value(forHTTPHeaderField: "Authorization")
        if refusedBearer == token.credentials {
            token = try await session.accessToken(after: token)
        }
        do { return try configuration.transport.webSocketTask(with: request.carrying(token)) } catch {
            throw GatehouseError.of(error)
        }
    }
}
