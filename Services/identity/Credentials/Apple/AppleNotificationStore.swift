import IdentityCore
import Postgres

/// The notifications that have been acted on (table `apple_notifications`).
struct AppleNotificationStore: Sendable {
    let database: PostgresPool

    func knows(_ id: String) async throws -> Bool {
        try await !database.query("SELECT id FROM apple_notifications WHERE id = \(id)").isEmpty
    }

    func add(_ id: String) async throws {
        try await database.query("INSERT INTO apple_notifications (id) VALUES (\(id)) ON CONFLICT (id) DO NOTHING")
    }
}

extension AppleNotificationStore {
    static let expiredRows = [
        ExpiredRows(
            table: "apple_notifications", key: "id",
            condition: "received_at < now() - make_interval(secs => \(AppleNotification.lifetime + 86_400))")
    ]
}
