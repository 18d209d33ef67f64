import Foundation
import GatehouseServiceContracts
import NIOHTTP1
import Postgres
import TestKit
import Testing

@testable import IdentityService

/// An operator who is signed in, and a system with a credential.
struct AdminHarness: Sendable {
    let identity: Harness
    let operatorID: UUID

    static let credentials = ["dev-admin-one", "dev-admin-two"]

    /// As the gateway sends it.
    func send(
        _ method: HTTPMethod, _ path: String, age: Int? = 0, json: String? = nil
    ) async throws -> TestHTTPClient.Response {
        try await identity.send(method, "/v1/admin" + path, as: operatorID, age: age, role: "operator", json: json)
    }

    /// As another system sends it.
    func ask(
        _ method: HTTPMethod, _ path: String, json: String? = nil, name: String? = nil, credential: String? = nil
    ) async throws -> TestHTTPClient.Response {
        var headers = [HeaderName.credential: credential ?? Self.credentials[0]]
        headers[HeaderName.operatorName] = name
        return try await identity.send(method, "/internal/admin" + path, json: json, headers: headers)
    }

    func users(_ query: String = "") async throws -> AdminUserList {
        try await send(.GET, "/users?" + query).decode()
    }

    func entries(_ query: String = "") async throws -> [AdminAuditEntry] {
        try await send(.GET, "/audit?" + query).decode(AdminAuditList.self).entries
    }
}

/// Runs `body` against a service of its own, with an operator.
func withOperator(
    _ settings: [String: String] = [:], _ body: @escaping @Sendable (AdminHarness) async throws -> Void
) async throws {
    let credentials = ["IDENTITY_ADMIN_CREDENTIALS": AdminHarness.credentials.joined(separator: ",")]
    try await withIdentity(credentials.merging(settings) { $1 }) { identity in
        let id = try await identity.register("operator@example.com").user.id
        try await identity.database.query("UPDATE users SET role = 'operator' WHERE id = \(id)")
        try await body(AdminHarness(identity: identity, operatorID: id))
    }
}
