package import Foundation
package import Postgres

/// Tasks that call other services or third parties (table `outbox`). A task is committed together with the change that
/// it belongs to.
package struct OutboxStore: Sendable {
    package let database: PostgresPool

    private static let columns = """
        id, user_id, kind, destination, task::text AS task, sealed, revision, attempts, created_at
        """

    /// Seconds for which a task belongs to the process that claimed it. Longer than a delivery usually takes. A second
    /// process may then repeat the task, so each task tolerates that.
    static let claimLifetime = 15.0

    /// Enqueues a task.
    /// - Parameters:
    ///   - dueAtOnce: whether a worker carries the task out at once. Otherwise the caller claims the task and carries
    ///     it out. If that fails or is interrupted, a worker does so when the claim has expired.
    ///   - sealing: creates the task's sealed value from the task's id.
    @discardableResult
    package static func enqueue(
        _ task: OutboxTask, user userID: UUID?, dueAtOnce: Bool = false, on database: some PostgresQuerying,
        sealing: (UUID) throws -> Data? = { _ in nil }
    ) async throws -> OutboxEntry {
        let id = UUID()
        let wait = dueAtOnce ? 0 : claimLifetime
        let row = try await database.query(
            """
            INSERT INTO outbox (id, kind, destination, user_id, task, sealed, next_attempt_at)
            VALUES (\(id), \(task.kind), \(task.destination.name), \(userID), \(try task.json())::jsonb,
                \(try sealing(id)), now() + make_interval(secs => \(wait)))
            RETURNING \(unescaped: columns)
            """)
        return try OutboxEntry(row[0])
    }

    /// The user's latest task of a kind, if one remains.
    package static func latest(
        _ kind: (some OutboxPayload).Type, of userID: UUID, on database: some PostgresQuerying
    ) async throws -> OutboxEntry? {
        try await database.query(
            """
            SELECT \(unescaped: columns) FROM outbox WHERE user_id = \(userID) AND kind = \(kind.kind)
            ORDER BY created_at DESC LIMIT 1
            """
        ).first.map(OutboxEntry.init)
    }

    /// The destinations that have tasks of the given kinds for them, and how long until the first of these is due.
    func waits(
        of tasks: [(destination: OutboxDestination, kind: String)]
    ) async throws -> [OutboxDestination: Duration] {
        let rows = try await database.query(
            """
            SELECT name, extract(epoch FROM greatest(next_attempt_at, now()) - now())::double precision
            FROM (
                SELECT name, array_agg(kind) AS kinds
                FROM unnest(\(tasks.map(\.destination.name)), \(tasks.map(\.kind))) AS task (name, kind)
                GROUP BY name
            ) AS destination, LATERAL (
                SELECT next_attempt_at FROM outbox WHERE destination = name AND kind = ANY(kinds)
                ORDER BY next_attempt_at LIMIT 1) AS next
            """
        ).decode((String, Double).self)
        return rows.reduce(into: [:]) { waits, row in waits[OutboxDestination(name: row.0)] = .seconds(row.1) }
    }

    /// Claims due tasks for one destination. No other process gets them until the claim expires.
    /// - Parameters:
    ///   - kinds: claims only tasks of these kinds.
    ///   - userID: claims only the tasks about this user.
    func claim(
        for destination: OutboxDestination, kinds: [String], limit: Int, about userID: UUID? = nil
    ) async throws -> [OutboxEntry] {
        try await database.query(
            Self.claim(for: destination, kinds: kinds, limit: limit, about: userID)
        ).map(OutboxEntry.init)
    }

    static func claim(
        for destination: OutboxDestination, kinds: [String], limit: Int, about userID: UUID?
    ) -> PostgresQuery {
        """
        UPDATE outbox SET
            attempts = attempts + 1, next_attempt_at = now() + make_interval(secs => \(claimLifetime))
        WHERE id IN (
            SELECT id FROM outbox
            WHERE destination = \(destination.name) AND next_attempt_at <= now() AND kind = ANY(\(kinds))
                AND (\(userID) IS NULL OR user_id = \(userID))
            ORDER BY next_attempt_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
        RETURNING \(unescaped: columns)
        """
    }

    /// The kinds of the remaining tasks about a user for one destination.
    package func kinds(for destination: OutboxDestination, about userID: UUID) async throws -> [String] {
        try await database.query(
            """
            SELECT DISTINCT kind FROM outbox
            WHERE user_id = \(userID) AND destination = \(destination.name) ORDER BY kind
            """
        ).decode(String.self)
    }

    /// Removes the task, unless a later change was added to it in between.
    func complete(_ entry: OutboxEntry) async throws {
        try await database.query("DELETE FROM outbox WHERE id = \(entry.id) AND revision = \(entry.revision)")
    }

    /// Schedules a retry of the task.
    package func postpone(_ entry: OutboxEntry, seconds: Double) async throws {
        try await database.query(
            """
            UPDATE outbox SET next_attempt_at = now() + make_interval(secs => \(seconds))
            WHERE id = \(entry.id) AND revision = \(entry.revision)
            """)
    }

    /// Replaces the task's sealed value.
    package func replaceSealed(of entry: OutboxEntry, by sealed: Data) async throws {
        try await database.query(
            "UPDATE outbox SET sealed = \(sealed) WHERE id = \(entry.id) AND revision = \(entry.revision)")
    }

    /// Replaces the task by the one that continues it, which is due at once, unless another process has already done
    /// so. The sealed value stays.
    func replace(_ entry: OutboxEntry, by task: OutboxTask, about userID: UUID?) async throws {
        try await database.query(
            """
            UPDATE outbox SET
                kind = \(task.kind), destination = \(task.destination.name), task = \(try task.json())::jsonb,
                user_id = \(userID), revision = revision + 1, attempts = 0, next_attempt_at = now()
            WHERE id = \(entry.id) AND revision = \(entry.revision)
            """)
    }
}

/// The tasks that wait for one destination.
struct OutboxBacklog: Sendable, Equatable {
    var count: Int
    /// The age of the oldest task, in seconds.
    var age: Double
}

extension OutboxStore {
    /// The most tasks that are counted for each destination, because an exact count would be expensive for PostgreSQL.
    static let mostCounted = 10_000

    /// The tasks that wait for each destination, including those in progress.
    func backlog(of destinations: [OutboxDestination]) async throws -> [OutboxDestination: OutboxBacklog] {
        let rows = try await database.query(
            """
            SELECT name, count, coalesce(extract(epoch FROM now() - oldest), 0)::double precision
            FROM unnest(\(destinations.map(\.name))) AS name, LATERAL (
                SELECT count(*) AS count, min(created_at) AS oldest FROM (
                    SELECT created_at FROM outbox WHERE destination = name
                    ORDER BY next_attempt_at LIMIT \(Self.mostCounted)) AS counted) AS waiting
            """
        ).decode((String, Int, Double).self)
        return rows.reduce(into: [:]) { backlog, row in
            backlog[OutboxDestination(name: row.0)] = OutboxBacklog(count: row.1, age: max(0, row.2))
        }
    }
}

extension OutboxEntry {
    fileprivate init(_ row: PostgresRow) throws {
        self.init(
            id: try row.decode("id"), userID: try row.decode("user_id"), kind: try row.decode("kind"),
            destination: OutboxDestination(name: try row.decode("destination")), json: try row.decode("task"),
            sealed: try row.decode("sealed"), revision: try row.decode("revision"),
            attempts: try row.decode("attempts"), createdAt: try row.decode("created_at"))
    }
}
