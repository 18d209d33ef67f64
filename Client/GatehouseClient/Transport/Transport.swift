public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// What carries requests to the server and their responses back.
///
/// Only ``send(_:)`` has to be there: by default the rest is made of it, in memory. Whoever cancels the task gives the
/// request up. What the network says is thrown as it is, as a rule as `URLError`. A request that carries a bearer is
/// never sent on to another origin.
public protocol Transport: Sendable {
    /// Sends `request` and returns the whole response, whatever its status.
    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse)

    /// Sends `request` with what `file` holds as its body.
    func upload(_ request: URLRequest, fromFile file: URL) async throws -> (Data, HTTPURLResponse)

    /// Sends `request` and writes the response's body to a new file, which then belongs to the caller.
    func download(_ request: URLRequest) async throws -> (URL, HTTPURLResponse)

    /// Sends `request` and returns as soon as the response's head is there; its body comes piece by piece.
    func stream(_ request: URLRequest) async throws -> (AsyncThrowingStream<Data, any Error>, HTTPURLResponse)

    /// A web socket that has not been opened yet.
    func webSocketTask(with request: URLRequest) throws -> URLSessionWebSocketTask
}

extension Transport {
    public func upload(_ request: URLRequest, fromFile file: URL) async throws -> (Data, HTTPURLResponse) {
        var request = request
        request.httpBody = try Data(contentsOf: file)
        return try await send(request)
    }

    public func download(_ request: URLRequest) async throws -> (URL, HTTPURLResponse) {
        let (data, response) = try await send(request)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try data.write(to: file)
        return (file, response)
    }

    public func stream(_ request: URLRequest) async throws -> (AsyncThrowingStream<Data, any Error>, HTTPURLResponse) {
        let (data, response) = try await send(request)
        let pieces = AsyncThrowingStream<Data, any Error> { continuation in
            continuation.yield(data)
            continuation.finish()
        }
        return (pieces, response)
    }

    public func webSocketTask(with request: URLRequest) throws -> URLSessionWebSocketTask {
        throw GatehouseError(.misuse, reason: "\(Self.self) has no web sockets")
    }
}
