public import Postgres

/// Writes rows in as few statements as possible, without one bad row holding up the others.
///
/// A part that the server refuses for a row (``PostgresError/mayConcernRow``) is halved until that row is alone.
///
/// - Parameters:
///   - write: writes a part in one statement or transaction.
///   - refused: is told the one row that cannot be written, and why. If it throws, the row counts as not written.
/// - Returns: `nil` once each row is written or refused; otherwise the rows that are left, in their order, and why:
///   PostgreSQL is unavailable, for example.
public func writeSplitting<Row: Sendable>(
    _ rows: [Row], isolation: isolated (any Actor)? = #isolation,
    write: ([Row]) async throws(PostgresError) -> Void,
    refused: (Row, PostgresError) async throws(PostgresError) -> Void
) async -> (rest: [Row], failure: PostgresError)? {
    // The last one is next.
    var parts = rows.isEmpty ? [] : [rows]
    while let part = parts.popLast() {
        do throws(PostgresError) {
            do throws(PostgresError) {
                try await write(part)
            } catch {
                guard error.mayConcernRow else { throw error }
                if part.count > 1 {
                    let half = part.count / 2
                    parts += [Array(part[half...]), Array(part[..<half])]
                } else {
                    try await refused(part[0], error)
                }
            }
        } catch {
            return (part + parts.reversed().joined(), error)
        }
    }
    return nil
}
