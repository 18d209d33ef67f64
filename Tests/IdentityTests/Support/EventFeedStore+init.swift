import Logging
import Postgres

@testable import IdentityService

extension EventFeedStore {
    /// The feed with the events of every feature.
    init(database: PostgresPool, pageSize: Int = pageSize, logger: Logger) {
        self.init(database: database, events: IdentityApplication.auditEvents, pageSize: pageSize, logger: logger)
    }
}
