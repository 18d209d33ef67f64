import Foundation
import Postgres

/// A task in the outbox.
struct OutboxEntry: Sendable {
    var id: UUID
    /// `nil` once the user no longer matters to it.
    var userID: UUID?
    var task: OutboxTask
    var sealed: Data?
    /// Moves when a later change joins the same entry.
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

/// A task that this version of the program cannot read: a newer replica has put it there, or an older one that is gone.
struct UnreadableOutboxEntry: Sendable {
    var id: UUID
    var kind: String
    var revision: Int64
    var attempts: Int
    /// Why it cannot be read.
    var flaw: any Error
}

/// The outbox, in PostgreSQL: tasks are committed with the change that they tell of.
struct OutboxStore: Sendable {
    let database: PostgresPool

    private static let columns = "id, user_id, task, sealed, revision, attempts, created_at"

    /// How long a task belongs to whoever claimed it, in seconds: longer than any attempt takes, so that a claim
    /// comes free only when its owner has died.
    static let claimLifetime = 15.0

    /// Tokens hears of a user's latest state only, so one entry is enough for any number of changes.
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
    /// - Parameter dueAtOnce: else it is claimed: who puts it there tries it, and if that fails or is cut off it comes
    ///   due by itself.
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

    /// Takes tasks for one destination that are due, each for one of however many processes ask. One that cannot be
    /// read spoils no other.
    /// - Parameter userID: takes those about one user alone.
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

    /// The kinds of what one destination is still to be told of a user.
    func kinds(for destination: OutboxDestination, about userID: UUID) async throws -> [String] {
        try await database.query(
            """
            SELECT DISTINCT kind FROM outbox
            WHERE user_id = \(userID) AND destination = \(destination.rawValue) ORDER BY kind
            """
        ).decode(String.self)
    }

    /// The task is done, unless more was added to it meanwhile.
    func complete(_ entry: OutboxEntry) async throws {
        try await database.query("DELETE FROM outbox WHERE id = \(entry.id) AND revision = \(entry.revision)")
    }

    /// The task is to be tried again.
    func postpone(_ entry: OutboxEntry, seconds: Double) async throws {
        try await postpone(entry.id, revision: entry.revision, seconds: seconds)
    }

    /// Somebody else may be able to read it, or this program's next version.
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

    /// The task's grant is spent; this one came of it.
    func replaceGrant(of entry: OutboxEntry, by sealed: Data) async throws {
        try await database.query(
            "UPDATE outbox SET sealed = \(sealed) WHERE id = \(entry.id) AND revision = \(entry.revision)")
    }

    /// A deletion goes on to its next step, which is due at once, unless somebody else has taken it further.
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
