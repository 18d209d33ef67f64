import Foundation
import GatehouseServiceContracts
import TestKit

extension TestHTTPClient {
    /// Sends a JSON value, or nothing, as an app does.
    func call(
        _ method: String, _ path: String, bearer: String? = nil, json: (any Encodable & Sendable)? = nil
    ) async throws -> Response {
        try await call(
            method, path, bearer: bearer, headers: json == nil ? [:] : ["Content-Type": "application/json"],
            body: json.map { try JSON.encode($0) })
    }

    /// Sends bytes as they are.
    func call(
        _ method: String, _ path: String, bearer: String? = nil, headers: [String: String] = [:], body: Data?
    ) async throws -> Response {
        var headers = headers
        if let bearer { headers["Authorization"] = "Bearer \(bearer)" }
        return try await send(method, path, headers: headers, body: body)
    }
}
