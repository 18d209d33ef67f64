import Postgres

/// Which of Apple's notifications have been acted on (table `apple_notifications`).
struct AppleNotificationStore: Sendable {
    let database: PostgresPool

    func knows(_ id: String, deadline: ContinuousClock.Instant) async throws -> Bool {
        try await !database.query("SELECT id FROM apple_notifications WHERE id = \(id)", deadline: deadline).isEmpty
    }

    func add(_ id: String, deadline: ContinuousClock.Instant) async throws {
        try await database.query(
            "INSERT INTO apple_notifications (id) VALUES (\(id)) ON CONFLICT (id) DO NOTHING", deadline: deadline)
    }
}
