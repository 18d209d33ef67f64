import Contracts
import Foundation
import HTTPTypes
import ServiceKit

/// The devices service, as identity uses it.
struct DevicesClient: Sendable {
    let client: ServiceClient

    func erase(_ userID: UUID) async throws {
        try await client.send(
            .delete, "/internal/users/\(userID.path)", deadline: .after(client.timeout),
            idempotent: true)
    }

    func devices(of userID: UUID, deadline: Deadline) async throws(Problem) -> DeviceExport {
        do {
            return try await client.send(
                .get, "/internal/users/\(userID.path)/devices", deadline: deadline, idempotent: true)
        } catch {
            throw Problem(.unavailable)
        }
    }
}
