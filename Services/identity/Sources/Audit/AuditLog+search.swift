import Foundation
import Postgres

extension AuditLog {
    /// Entries from the newest to the oldest, by their times.
    /// - Parameter cursor: where the page before ended; `nil` for the first page.
    func search(
        _ search: AuditSearch, after cursor: AuditCursor?, limit: Int, deadline: ContinuousClock.Instant
    ) async throws -> [AuditRecord] {
        // What an older version has written stands in `audit`. Each table gives its newest in the order of an index.
        try await database.query(
            """
            (SELECT \(unescaped: AuditRecord.columns)
            FROM audit_entries e LEFT JOIN audit_origins o ON o.entry_id = e.id
            \(entriesOf: "e", search, after: cursor, limit: limit))
            UNION ALL
            (SELECT \(unescaped: AuditRecord.formerColumns) FROM audit f
            \(entriesOf: "f", search, after: cursor, limit: limit))
            ORDER BY 2 DESC, 1 DESC LIMIT \(limit)
            """, deadline: deadline
        ).map(AuditRecord.init(row:))
    }
}

extension PostgresQuery.Interpolation {
    /// - Parameter table: the name of the table in the statement.
    fileprivate mutating func appendInterpolation(
        entriesOf table: String, _ search: AuditSearch, after cursor: AuditCursor?, limit: Int
    ) {
        appendLiteral("WHERE true")
        append(" AND \(table).user_id = ", search.userID)
        append(" AND \(table).event = ", search.event)
        append(" AND \(table).at >= ", search.since)
        append(" AND \(table).at < ", search.until)
        if let cursor {
            append(" AND (\(table).at, \(table).id) < (", cursor.at)
            append(", ", cursor.id)
            appendLiteral(")")
        }
        append(" ORDER BY \(table).at DESC, \(table).id DESC LIMIT ", limit)
    }

    private mutating func append(_ text: String, _ value: (some PostgresEncodable)?) {
        guard let value else { return }
        appendInterpolation(unescaped: text)
        appendInterpolation(value)
    }
}
