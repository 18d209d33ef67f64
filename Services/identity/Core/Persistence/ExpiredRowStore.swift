import GatehouseInstruments
package import Logging
package import Postgres
package import ServiceKitPostgres

/// The rows of a table that expire. Features declare theirs beside their stores.
package struct ExpiredRows: Sendable {
    var table: String
    /// The column that identifies a row.
    var key: String
    /// The SQL condition of the rows that have expired.
    var condition: String

    package init(table: String, key: String, condition: String) {
        self.table = table
        self.key = key
        self.condition = condition
    }
}

/// Removes expired rows. Each batch is its own statement, so that none exceeds the statement timeout, however many rows
/// there are. Every replica does this, and skips rows that another has locked.
package struct ExpiredRowStore: Sendable {
    let database: PostgresPool
    private let rows: [ExpiredRows]
    private let others: [Purger.Table]
    private let failures = Counter(
        "identity_housekeeping_failed_total", help: "Failed attempts to remove expired rows.")

    static let batch = 500
    /// The time between two batches of a table without expired rows.
    private static let pause = Duration.seconds(600)

    /// - Parameter others: tables whose rows are not removed by a condition alone.
    package init(database: PostgresPool, rows: [ExpiredRows], others: [Purger.Table] = []) {
        self.database = database
        self.rows = rows
        self.others = others
    }

    package func purger(logger: Logger) -> Purger {
        let tables = rows.map { rows in
            Purger.Table(rows.table) { try await remove(rows) == Self.batch ? .zero : nil }
        }
        return Purger(tables + others, pause: Self.pause, logger: logger) { _ in failures.increment() }
    }

    /// - Returns: the number of removed rows.
    private func remove(_ rows: ExpiredRows) async throws(PostgresError) -> Int {
        try await database.query(
            """
            DELETE FROM \(unescaped: rows.table) WHERE \(unescaped: rows.key) IN (
                SELECT \(unescaped: rows.key) FROM \(unescaped: rows.table) WHERE \(unescaped: rows.condition)
                LIMIT \(Self.batch) FOR UPDATE SKIP LOCKED)
            """
        ).affectedRows
    }
}
