package import Foundation
package import GatehouseServiceContracts
package import GatehouseServiceKit
import HTTPTypes

/// Client of the devices service.
package struct DevicesClient: Sendable {
    let client: ServiceClient

    package init(client: ServiceClient) {
        self.client = client
    }

    package func erase(_ userID: UUID) async throws {
        try await client.send(.delete, "/internal/users/\(userID.path)", idempotent: true)
    }

    package func devices(of userID: UUID) async throws(ServiceClientError) -> DeviceExport {
        do {
            return try await client.send(.get, "/internal/users/\(userID.path)/devices", idempotent: true)
        } catch {
            throw error.hidingRefusal
        }
    }

    /// Sends an alert to the user's own devices.
    ///
    /// - Parameter key: a repetition with the same key sends nothing.
    /// - Throws: devices' refusal, for the user.
    package func sendTestPush(
        _ push: TestPushRequest, to userID: UUID, key: String
    ) async throws(ServiceClientError) -> PushAccepted {
        try await client.send(
            .post, "/internal/users/\(userID.path)/test-pushes", body: push, query: [("key", key)], idempotent: true)
    }

    /// - Throws: `NOT_FOUND` for another user's push.
    package func testPush(_ push: UUID, to userID: UUID) async throws(ServiceClientError) -> PushStatus {
        try await client.send(.get, "/internal/users/\(userID.path)/test-pushes/\(push.path)")
    }

    package func undeliveredPushes(of userID: UUID) async throws(ServiceClientError) -> UndeliveredPushList {
        do {
            return try await client.send(.get, "/internal/users/\(userID.path)/undelivered-pushes")
        } catch {
            throw error.hidingRefusal
        }
    }
}
