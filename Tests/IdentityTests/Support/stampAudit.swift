import Postgres
import ServiceKitPostgres
import TestKit

@testable import IdentityService

/// Gives the committed entries of the audit log their numbers, as a running service does.
func stampAudit(on pool: PostgresPool) async throws {
    try await EventFeedStore(database: pool, logger: .quiet).stamped.stamp()
}
