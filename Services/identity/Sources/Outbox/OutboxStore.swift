import Foundation
import Postgres

/// Tasks for which other services or Apple have to be called (table `outbox`). A task is committed together with the
/// change that it belongs to.
struct OutboxStore: Sendable {
    let database: PostgresPool

    private static let columns = "id, user_id, task, sealed, revision, attempts, created_at"

    /// Seconds for which a task belongs to the process that claimed it: longer than any attempt takes, so that another
    /// process takes the task up only when this one has died.
    static let claimLifetime = 15.0

    /// Puts into the outbox that tokens is told what the user is like. It is told the latest state only, so that one
    /// entry is enough for any number of changes.
    static func enqueueSnapshot(of userID: UUID, on database: some PostgresQuerying) async throws {
        try await database.query(
            """
            INSERT INTO outbox (id, kind, destination, user_id, task)
            VALUES (\(UUID()), 'snapshot', 'tokens', \(userID), \(PostgresJSON(OutboxTask.snapshot)))
            ON CONFLICT (user_id) WHERE kind = 'snapshot'
            DO UPDATE SET revision = outbox.revision + 1, attempts = 0, next_attempt_at = now()
            """)
    }

    /// Puts a task into the outbox.
    /// - Parameters:
    ///   - dueAtOnce: whether a worker is to carry it out at once. Otherwise the caller claims the task and carries it
    ///     out; if that fails or is cut off, a worker does when the claim has run out.
    ///   - sealing: the sealed value that belongs to the task, made with the task's id.
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
        return try OutboxEntry(row: row[0])
    }

    /// The deletion of the user, if it is still under way.
    static func deletion(of userID: UUID, on database: some PostgresQuerying) async throws -> OutboxEntry? {
        try await database.query(
            "SELECT \(unescaped: columns) FROM outbox WHERE user_id = \(userID) AND kind = 'deletion'"
        ).first.map(OutboxEntry.init(row:))
    }

    static func pendingExchange(of userID: UUID, on database: some PostgresQuerying) async throws -> OutboxEntry? {
        try await database.query(
            """
            SELECT \(unescaped: columns) FROM outbox WHERE user_id = \(userID) AND kind = 'exchange_code'
            ORDER BY created_at DESC LIMIT 1
            """
        ).first.map(OutboxEntry.init(row:))
    }

    /// Claims tasks for one destination that are due. No other process gets them as long as the claim lasts. A task
    /// that cannot be read does not keep the others from being claimed.
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
                claim.entries.append(try OutboxEntry(row: row))
            } catch {
                claim.unreadable.append(try UnreadableOutboxEntry(row: row, flaw: error))
            }
        }
    }

    /// The kinds of the tasks about a user that are left for one destination.
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

    /// Has the task tried again.
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

    /// Replaces the task's grant, a code that is used up, by the refresh token that it was exchanged for.
    func replaceGrant(of entry: OutboxEntry, by sealed: Data) async throws {
        try await database.query(
            "UPDATE outbox SET sealed = \(sealed) WHERE id = \(entry.id) AND revision = \(entry.revision)")
    }

    /// Moves a deletion on to its next step, which is due at once, unless another process has done so already.
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

/// A task in the outbox.
struct OutboxEntry: Sendable {
    var id: UUID
    /// `nil` when the task does not need to know the user, or no longer.
    var userID: UUID?
    var task: OutboxTask
    var sealed: Data?
    /// Counts up when a later change is added to the same entry.
    var revision: Int64
    var attempts: Int
    var createdAt: Date
}

/// Tasks that were claimed together.
struct OutboxClaim: Sendable {
    var entries: [OutboxEntry] = []
    var unreadable: [UnreadableOutboxEntry] = []

    var count: Int { entries.count + unreadable.count }
}

/// A task that this version of the program cannot read: a replica of another version has put it there.
struct UnreadableOutboxEntry: Sendable {
    var id: UUID
    var kind: String
    var revision: Int64
    var attempts: Int
    /// Why it cannot be read.
    var flaw: any Error
}

extension OutboxEntry {
    init(row: PostgresRow) throws {
        id = try row.decode(column: 0)
        userID = try row.decode(column: 1)
        task = try row.decode(PostgresJSON<OutboxTask>.self, column: 2).value
        sealed = try row.decode(column: 3)
        revision = try row.decode(column: 4)
        attempts = try row.decode(Int.self, column: 5)
        createdAt = try row.decode(column: 6)
    }
}

extension UnreadableOutboxEntry {
    init(row: PostgresRow, flaw: any Error) throws {
        id = try row.decode(column: 0)
        kind = try row.decode(column: 7)
        revision = try row.decode(column: 4)
        attempts = try row.decode(Int.self, column: 5)
        self.flaw = flaw
    }
}
