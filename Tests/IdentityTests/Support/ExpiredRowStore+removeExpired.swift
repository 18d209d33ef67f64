import ServiceKitPostgres
import TestKit

@testable import IdentityCore

extension ExpiredRowStore {
    /// Removes what has expired by now, as the purger does after the start of a service.
    func removeExpired(log: CapturedLog) async {
        let purger = purger(logger: log.logger)
        for table in purger.tables {
            while await purger.purge(table) == .zero {}
        }
    }
}
