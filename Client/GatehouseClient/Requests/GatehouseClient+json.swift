import Foundation

// Requests whose bodies are JSON in Gatehouse's format: camelCase, dates in ISO 8601.
//
// ```swift
// let order: Order = try await gatehouse.get("/v1/orders/7")
// let placed: Order = try await gatehouse.post("/v1/orders", json: NewOrder(item: "tea"))
// try await gatehouse.delete("/v1/orders/7")
// ```
//
// Each is a call of ``GatehouseClient/send(_:)``, which documents the errors.
extension GatehouseClient {
    /// - Parameters:
    ///   - path: below the base URL. It begins with `/` and is percent-encoded, and may contain a query.
    public func get<Response: Decodable & Sendable>(_ path: String) async throws(GatehouseError) -> Response {
        try await send(GatehouseEndpoint("GET", path))
    }

    public func post<Response: Decodable & Sendable>(
        _ path: String, json body: (any Encodable & Sendable)? = nil
    ) async throws(GatehouseError) -> Response {
        try await send(.decoding("POST", path, body))
    }

    public func put<Response: Decodable & Sendable>(
        _ path: String, json body: (any Encodable & Sendable)? = nil
    ) async throws(GatehouseError) -> Response {
        try await send(.decoding("PUT", path, body))
    }

    public func patch<Response: Decodable & Sendable>(
        _ path: String, json body: (any Encodable & Sendable)? = nil
    ) async throws(GatehouseError) -> Response {
        try await send(.decoding("PATCH", path, body))
    }

    public func delete<Response: Decodable & Sendable>(_ path: String) async throws(GatehouseError) -> Response {
        try await send(GatehouseEndpoint("DELETE", path))
    }
}

// The same without a value to decode: the content of the response is ignored.
extension GatehouseClient {
    public func post(_ path: String, json body: (any Encodable & Sendable)? = nil) async throws(GatehouseError) {
        try await send(.ignoringContent("POST", path, body))
    }

    public func put(_ path: String, json body: (any Encodable & Sendable)? = nil) async throws(GatehouseError) {
        try await send(.ignoringContent("PUT", path, body))
    }

    public func patch(_ path: String, json body: (any Encodable & Sendable)? = nil) async throws(GatehouseError) {
        try await send(.ignoringContent("PATCH", path, body))
    }

    public func delete(_ path: String) async throws(GatehouseError) {
        try await send(GatehouseEndpoint<Void>("DELETE", path))
    }
}

extension GatehouseEndpoint where Response: Decodable {
    fileprivate static func decoding(_ method: String, _ path: String, _ body: (any Encodable & Sendable)?) -> Self {
        Self(method: method, path: path, query: [], content: body.map { .json($0) }, read: readJSON)
    }
}

extension GatehouseEndpoint where Response == Void {
    fileprivate static func ignoringContent(
        _ method: String, _ path: String, _ body: (any Encodable & Sendable)?
    ) -> Self {
        Self(method: method, path: path, query: [], content: body.map { .json($0) }) { _ in }
    }
}
