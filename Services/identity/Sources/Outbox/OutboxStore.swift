import Foundation
import Postgres

/// Tasks that call other services or Apple (table `outbox`). A task is committed together with the change that it
/// belongs to.
struct OutboxStore: Sendable {
    let database: PostgresPool

    private static let columns = "id, user_id, task, sealed, revision, attempts, created_at"

    /// Seconds for which a task belongs to the process that claimed it. Longer than a delivery usually takes. A second
    /// process may then repeat the task, so each task tolerates that (``AppleGrantDelivery`` says why its own does).
    static let claimLifetime = 15.0

    /// Enqueues the user's snapshot for tokens. Only the latest state is sent, so one entry is enough for any number of
    /// changes.
    static func enqueueSnapshot(of userID: UUID, on database: some PostgresQuerying) async throws {
        try await database.query(
            """
            INSERT INTO outbox (id, kind, destination, user_id, task)
            VALUES (\(UUID()), 'snapshot', 'tokens', \(userID), \(PostgresJSON(OutboxTask.snapshot)))
            ON CONFLICT (user_id) WHERE kind = 'snapshot'
            DO UPDATE SET revision = outbox.revision + 1, attempts = 0, next_attempt_at = now()
            """)
    }

    /// Enqueues a task.
    /// - Parameters:
    ///   - dueAtOnce: whether a worker carries the task out at once. Otherwise the caller claims the task and carries
    ///     it out. If that fails or is interrupted, a worker does so when the claim has expired.
    ///   - sealing: creates the task's sealed value from the task's id.
    @discardableResult
    static func enqueue(
        _ task: OutboxTask, user userID: UUID?, dueAtOnce: Bool = false, on database: some PostgresQuerying,
        sealing: (UUID) throws -> Data? = { _ in nil }
    ) async throws -> OutboxEntry {
        let id = UUID()
        let wait = dueAtOnce ? 0 : claimLifetime
        let row = try await database.query(
            """
            INSERT INTO outbox (id, kind, destination, user_id, task, sealed, next_attempt_at)
            VALUES (\(id), \(task.kind), \(task.destination.rawValue), \(userID), \(PostgresJSON(task)),
                \(try sealing(id)), now() + make_interval(secs => \(wait)))
            RETURNING \(unescaped: columns)
            """)
        return try OutboxEntry(row[0])
    }

    /// The task of the user's deletion, if it is still in progress.
    static func deletion(of userID: UUID, on database: some PostgresQuerying) async throws -> OutboxEntry? {
        try await database.query(
            "SELECT \(unescaped: columns) FROM outbox WHERE user_id = \(userID) AND kind = 'deletion'"
        ).first.map(OutboxEntry.init)
    }

    static func pendingExchange(of userID: UUID, on database: some PostgresQuerying) async throws -> OutboxEntry? {
        try await database.query(
            """
            SELECT \(unescaped: columns) FROM outbox WHERE user_id = \(userID) AND kind = 'exchange_code'
            ORDER BY created_at DESC LIMIT 1
            """
        ).first.map(OutboxEntry.init)
    }

    /// Removes the tasks that would exchange a code of the user.
    static func deleteExchanges(of userID: UUID, on transaction: PostgresTransaction) async throws {
        try await transaction.query("DELETE FROM outbox WHERE user_id = \(userID) AND kind = 'exchange_code'")
    }

    static func moveExchanges(from: UUID, to into: UUID, on transaction: PostgresTransaction) async throws {
        try await transaction.query(
            "UPDATE outbox SET user_id = \(into) WHERE user_id = \(from) AND kind = 'exchange_code'")
    }

    /// The destinations that have tasks, and how long until the first of them is due.
    func waits() async throws -> [OutboxDestination: Duration] {
        let rows = try await database.query(
            """
            SELECT name, extract(epoch FROM greatest(next_attempt_at, now()) - now())::double precision
            FROM unnest(\(Self.destinations)) AS name, LATERAL (
                SELECT next_attempt_at FROM outbox WHERE destination = name ORDER BY next_attempt_at LIMIT 1) AS next
            """
        ).decode((String, Double).self)
        return rows.reduce(into: [:]) { waits, row in
            if let destination = OutboxDestination(rawValue: row.0) { waits[destination] = .seconds(row.1) }
        }
    }

    private static let destinations = OutboxDestination.allCases.map(\.rawValue)

    /// Claims due tasks for one destination. No other process gets them until the claim expires. An unreadable task
    /// does not keep the others from being claimed.
    /// - Parameter userID: claims only the tasks about this user.
    func claim(
        for destination: OutboxDestination, limit: Int, about userID: UUID? = nil
    ) async throws -> OutboxClaim {
        let rows = try await database.query(
            """
            UPDATE outbox SET
                attempts = attempts + 1, next_attempt_at = now() + make_interval(secs => \(Self.claimLifetime))
            WHERE id IN (
                SELECT id FROM outbox
                WHERE destination = \(destination.rawValue) AND next_attempt_at <= now()
                    AND (\(userID) IS NULL OR user_id = \(userID))
                ORDER BY next_attempt_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING \(unescaped: Self.columns), kind
            """)
        return try rows.reduce(into: OutboxClaim()) { claim, row in
            do {
                claim.entries.append(try OutboxEntry(row))
            } catch {
                claim.unreadable.append(try UnreadableOutboxEntry(row, flaw: error))
            }
        }
    }

    /// The kinds of the remaining tasks about a user for one destination.
    func kinds(for destination: OutboxDestination, about userID: UUID) async throws -> [String] {
        try await database.query(
            """
            SELECT DISTINCT kind FROM outbox
            WHERE user_id = \(userID) AND destination = \(destination.rawValue) ORDER BY kind
            """
        ).decode(String.self)
    }

    /// Removes the task, unless a later change was added to it in between.
    func complete(_ entry: OutboxEntry) async throws {
        try await database.query("DELETE FROM outbox WHERE id = \(entry.id) AND revision = \(entry.revision)")
    }

    /// Schedules a retry of the task.
    func postpone(_ entry: OutboxEntry, seconds: Double) async throws {
        try await postpone(entry.id, revision: entry.revision, seconds: seconds)
    }

    /// Leaves the task to a replica of another version, or to the next version of this one.
    func postpone(_ entry: UnreadableOutboxEntry, seconds: Double) async throws {
        try await postpone(entry.id, revision: entry.revision, seconds: seconds)
    }

    private func postpone(_ id: UUID, revision: Int64, seconds: Double) async throws {
        try await database.query(
            """
            UPDATE outbox SET next_attempt_at = now() + make_interval(secs => \(seconds))
            WHERE id = \(id) AND revision = \(revision)
            """)
    }

    /// Replaces the task's grant: the code is used up, and the refresh token from its exchange takes its place.
    func replaceGrant(of entry: OutboxEntry, by sealed: Data) async throws {
        try await database.query(
            "UPDATE outbox SET sealed = \(sealed) WHERE id = \(entry.id) AND revision = \(entry.revision)")
    }

    /// Moves a deletion on to its next step, which is due at once, unless another process has already done so.
    func advance(_ entry: OutboxEntry, to step: DeletionStep) async throws {
        try await database.query(
            """
            UPDATE outbox SET
                task = \(PostgresJSON(OutboxTask.deletion(step))), destination = \(step.destination.rawValue),
                revision = revision + 1, attempts = 0, next_attempt_at = now(),
                user_id = \((step.needsUser ? entry.userID : nil))
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
    func backlog() async throws -> [OutboxDestination: OutboxBacklog] {
        let rows = try await database.query(
            """
            SELECT name, count, coalesce(extract(epoch FROM now() - oldest), 0)::double precision
            FROM unnest(\(Self.destinations)) AS name, LATERAL (
                SELECT count(*) AS count, min(created_at) AS oldest FROM (
                    SELECT created_at FROM outbox WHERE destination = name
                    ORDER BY next_attempt_at LIMIT \(Self.mostCounted)) AS counted) AS waiting
            """
        ).decode((String, Int, Double).self)
        return rows.reduce(into: [:]) { backlog, row in
            guard let destination = OutboxDestination(rawValue: row.0) else { return }
            backlog[destination] = OutboxBacklog(count: row.1, age: max(0, row.2))
        }
    }
}

/// A task in the outbox.
struct OutboxEntry: Sendable {
    var id: UUID
    /// `nil` when the task does not need the user, or no longer does.
    var userID: UUID?
    var task: OutboxTask
    var sealed: Data?
    /// Increases when a later change is added to the same entry.
    var revision: Int64
    /// How often its delivery was begun.
    var attempts: Int
    var createdAt: Date
}

/// Tasks that were claimed together.
struct OutboxClaim: Sendable {
    var entries: [OutboxEntry] = []
    var unreadable: [UnreadableOutboxEntry] = []

    var count: Int { entries.count + unreadable.count }
}

/// A task that this version of the program cannot read, because a replica of another version enqueued it.
struct UnreadableOutboxEntry: Sendable {
    var id: UUID
    var kind: String
    var revision: Int64
    var attempts: Int
    /// The decoding error.
    var flaw: any Error
}

extension OutboxEntry {
    fileprivate init(_ row: PostgresRow) throws {
        id = try row.decode("id")
        userID = try row.decode("user_id")
        task = try row.decode("task", as: PostgresJSON<OutboxTask>.self).value
        sealed = try row.decode("sealed")
        revision = try row.decode("revision")
        attempts = try row.decode("attempts")
        createdAt = try row.decode("created_at")
    }
}

extension UnreadableOutboxEntry {
    fileprivate init(_ row: PostgresRow, flaw: any Error) throws {
        id = try row.decode("id")
        kind = try row.decode("kind")
        revision = try row.decode("revision")
        attempts = try row.decode("attempts")
        self.flaw = flaw
    }
}
