import Contracts
import Foundation
import HTTPTypes
import ServiceKit

/// Client of the devices service.
struct DevicesClient: Sendable {
    let client: ServiceClient

    func erase(_ userID: UUID) async throws {
        try await client.send(.delete, "/internal/users/\(userID.path)", idempotent: true)
    }

    func devices(of userID: UUID) async throws(ServiceClientError) -> DeviceExport {
        do {
            return try await client.send(.get, "/internal/users/\(userID.path)/devices", idempotent: true)
        } catch {
            throw error.hidingRefusal
        }
    }
}
