import CLibpq

/// Owns libpq's result.
///
/// Unchecked, because the pointer hides it from the compiler: libpq documents that a result is read-only once it has
/// been received and may be used from any thread; nothing here writes to it, and it is freed once, by the last owner.
final class ResultStorage: @unchecked Sendable {
    private let result: OpaquePointer
    let rowCount: Int
    let columnCount: Int

    init(_ result: OpaquePointer) {
        self.result = result
        rowCount = Int(PQntuples(result))
        columnCount = Int(PQnfields(result))
    }

    deinit {
        PQclear(result)
    }

    var status: ExecStatusType { PQresultStatus(result) }
    var affectedRows: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }
    /// What the server says it did, such as `COMMIT` or `INSERT 0 1`.
    var commandTag: String { String(cString: PQcmdStatus(result)) }

    func columnName(_ column: Int) -> String {
        PQfname(result, Int32(column)).map { String(cString: $0) } ?? ""
    }

    func withCell<Value>(
        row: Int, column: Int, _ body: (PostgresCell) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        let (row, column) = (Int32(row), Int32(column))
        let type = PostgresType(PQftype(result, column))
        let format: PostgresFormat = PQfformat(result, column) == 0 ? .text : .binary
        guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else {
            return try body(PostgresCell(bytes: nil, type: type, format: format))
        }
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
        return try body(PostgresCell(bytes: bytes, type: type, format: format))
    }

    /// The server's error, without its DETAIL, which repeats values of rows.
    var error: PostgresError {
        guard let state = field("C") else {
            let message = String(cString: PQresultErrorMessage(result))
            return PostgresError(.connectionLost, message.trimmed, outcomeIsUnknown: true)
        }
        return PostgresError(
            .server, field("M") ?? "no message", sqlState: SQLState(state), constraint: field("n"))
    }

    /// A field of the error by libpq's letter (`PG_DIAG_…`).
    private func field(_ letter: Unicode.Scalar) -> String? {
        PQresultErrorField(result, Int32(letter.value)).map { String(cString: $0) }
    }
}

extension String {
    /// Without the line ends that libpq puts at the end of its messages.
    var trimmed: String {
        String(self[..<(lastIndex { !$0.isWhitespace }.map(index(after:)) ?? startIndex)])
    }
}
