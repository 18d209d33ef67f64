import Postgres
import TestKit

extension GatehouseSystem {
    /// Rows of any table that hold one of the texts in any column; audit and revocation entries may stay.
    static func rows(mentioning texts: [String], in databaseURL: String) async throws -> Int {
        let connection = try await PostgresConnection.patient(databaseURL)
        defer { Task { await connection.close() } }
        let tables = try await connection.query(
            """
            SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) FROM information_schema.tables
            WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND table_type = 'BASE TABLE'
            AND table_name NOT LIKE '%audit%' AND table_name NOT LIKE '%revo%' AND table_name NOT LIKE '%event%'
            """
        ).decode(String.self)
        var count = 0
        for table in tables {
            for text in texts {
                let found = try await connection.query(
                    "SELECT count(*) FROM \(unescaped: table) AS whole WHERE whole::text LIKE '%' || \(text) || '%'"
                )
                count += try found.decode(Int.self).first ?? 0
            }
        }
        return count
    }
}
