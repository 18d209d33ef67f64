import Postgres

/// What waits for one destination.
struct OutboxBacklog: Sendable, Equatable {
    var count: Int
    /// Seconds since the oldest was put into the outbox.
    var age: Double
}

extension OutboxStore {
    /// Tasks that are counted for each destination: counting more would cost PostgreSQL more than it tells.
    static let mostCounted = 10_000

    /// How much waits for each destination, the tasks included that are being carried out.
    func backlog() async throws -> [OutboxDestination: OutboxBacklog] {
        var backlog: [OutboxDestination: OutboxBacklog] = [:]
        for destination in OutboxDestination.allCases {
            let row = try await database.query(
                """
                SELECT count(*), coalesce(extract(epoch FROM now() - min(created_at)), 0)::double precision
                FROM (
                    SELECT created_at FROM outbox WHERE destination = \(destination.rawValue)
                    ORDER BY next_attempt_at LIMIT \(Self.mostCounted)) AS counted
                """
            ).decode((Int, Double).self)
            if let (count, age) = row.first { backlog[destination] = OutboxBacklog(count: count, age: max(0, age)) }
        }
        return backlog
    }
}
