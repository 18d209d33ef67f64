import Postgres
import ServiceKitPostgres
import Testing

/// Writing rows of which some are refused.
@Suite struct SplitWriteTests {
    private static let outOfRange = PostgresError(.server, "timestamp out of range", sqlState: "22008")
    private static let unavailable = PostgresError(.connectionLost, "lost", outcomeIsUnknown: true)
    private static let noFunction = PostgresError(.server, "function does not exist", sqlState: "42883")

    /// Writes rows into a list. `failure` decides on each part.
    private func write(
        _ rows: [Int], failure: ([Int]) -> PostgresError?, refusal: PostgresError? = nil
    ) async -> (written: [Int], refused: [Int], statements: Int, rest: [Int]?) {
        var (written, refused, statements): ([Int], [Int], Int) = ([], [], 0)
        let left = await writeSplitting(rows) { (part) throws(PostgresError) in
            statements += 1
            if let failure = failure(part) { throw failure }
            written += part
        } refused: { (row, _) throws(PostgresError) in
            if let refusal { throw refusal }
            refused.append(row)
        }
        return (written, refused, statements, left?.rest)
    }

    @Test func rowsAreWrittenTogether() async {
        let result = await write(Array(0..<500)) { _ in nil }
        #expect(result.written == Array(0..<500) && result.statements == 1 && result.rest == nil)
        #expect(await write([]) { _ in nil }.statements == 0)
    }

    @Test(arguments: [[0], [499], [250], [0, 1, 499], Array(0..<500)])
    func refusedRowsEndAlone(_ bad: [Int]) async {
        let result = await write(Array(0..<500)) { $0.contains(where: bad.contains) ? Self.outOfRange : nil }
        #expect(result.refused == bad && result.rest == nil)
        #expect(result.written == (0..<500).filter { !bad.contains($0) })
        #expect(result.statements <= 1 + 20 * bad.count)
    }

    /// Nothing of an outage, or of a missing function, is a row's fault.
    @Test(arguments: [unavailable, noFunction])
    func rowsAreKeptWhileNothingCanBeWritten(_ failure: PostgresError) async {
        let result = await write(Array(0..<4)) { _ in failure }
        #expect(result.rest == [0, 1, 2, 3] && result.statements == 1 && result.refused.isEmpty)
    }

    @Test func rowsThatAreLeftStayInTheirOrder() async {
        // PostgreSQL goes away while the bad row is looked for.
        let result = await write(Array(0..<8)) { part in
            part.count > 2 ? Self.outOfRange : part.contains(2) ? Self.unavailable : nil
        }
        #expect(result.written == [0, 1] && result.rest == [2, 3, 4, 5, 6, 7])
    }

    @Test func aRowWhoseRefusalCannotBeWrittenIsKept() async {
        let result = await write(
            [0, 1, 2], failure: { $0.contains(0) ? Self.outOfRange : nil }, refusal: Self.outOfRange)
        #expect(result.rest == [0, 1, 2] && result.written.isEmpty)
    }
}
