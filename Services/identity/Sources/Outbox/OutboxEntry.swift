import Foundation
import Postgres

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
