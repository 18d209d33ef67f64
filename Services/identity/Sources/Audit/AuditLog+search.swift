import Foundation
import Postgres

extension AuditLog {
    /// Entries from the newest to the oldest: those of one user by their ids, others by their times.
    /// - Parameter cursor: where the page before ended; `nil` for the first page.
    func search(
        _ search: AuditSearch, after cursor: AuditCursor?, limit: Int, deadline: ContinuousClock.Instant
    ) async throws -> [AuditRecord] {
        let order: Order = search.userID == nil ? .time(after: cursor) : .id(before: cursor?.id ?? .max)
        return try await entries(search, order, limit: limit, deadline: deadline)
    }

    /// Entries from the newest to the oldest, by their ids.
    /// - Parameters:
    ///   - userID: only what happened to this user.
    ///   - before: the id of the last entry of the page before; `nil` for the first page.
    func page(
        of userID: UUID?, before: Int64?, limit: Int, deadline: ContinuousClock.Instant? = nil
    ) async throws -> [AuditRecord] {
        try await entries(AuditSearch(userID: userID), .id(before: before ?? .max), limit: limit, deadline: deadline)
    }

    /// Each has an index for one user or for all.
    fileprivate enum Order {
        case id(before: Int64)
        case time(after: AuditCursor?)
    }

    /// What an older version has written stands in `audit`. Each table gives its newest in the order of an index: over
    /// both, PostgreSQL would sort the whole log.
    private func entries(
        _ search: AuditSearch, _ order: Order, limit: Int, deadline: ContinuousClock.Instant?
    ) async throws -> [AuditRecord] {
        let newestFirst = if case .id = order { "1 DESC" } else { "2 DESC, 1 DESC" }
        return try await database.query(
            """
            (SELECT \(unescaped: AuditRecord.columns)
            FROM audit_entries e LEFT JOIN audit_origins o ON o.entry_id = e.id
            \(entriesOf: "e", search, order, limit: limit))
            UNION ALL
            (SELECT \(unescaped: AuditRecord.formerColumns) FROM audit f
            \(entriesOf: "f", search, order, limit: limit))
            ORDER BY \(unescaped: newestFirst) LIMIT \(limit)
            """, deadline: deadline
        ).map(AuditRecord.init(row:))
    }
}

extension PostgresQuery.Interpolation {
    /// - Parameter table: the name of the table in the statement.
    fileprivate mutating func appendInterpolation(
        entriesOf table: String, _ search: AuditSearch, _ order: AuditLog.Order, limit: Int
    ) {
        appendLiteral("WHERE true")
        append(" AND \(table).user_id = ", search.userID)
        append(" AND \(table).event = ", search.event)
        append(" AND \(table).event <> ", search.exceptEvent)
        append(" AND \(table).at >= ", search.since)
        append(" AND \(table).at < ", search.until)
        switch order {
        case .id(let before):
            append(" AND \(table).id < ", before)
            appendInterpolation(unescaped: " ORDER BY \(table).id DESC")
        case .time(let cursor):
            if let cursor {
                append(" AND (\(table).at, \(table).id) < (", cursor.at)
                append(", ", cursor.id)
                appendLiteral(")")
            }
            appendInterpolation(unescaped: " ORDER BY \(table).at DESC, \(table).id DESC")
        }
        append(" LIMIT ", limit)
    }

    private mutating func append(_ text: String, _ value: (some PostgresEncodable)?) {
        guard let value else { return }
        appendInterpolation(unescaped: text)
        appendInterpolation(value)
    }
}
