import CLibpq
import Foundation

/// The rows that a statement returned, in the order of the server. The last copy of the result and its rows frees the
/// memory.
public struct PostgresResult: Sendable, RandomAccessCollection {
    private let storage: ResultStorage

    init(_ storage: ResultStorage) {
        self.storage = storage
    }

    /// How many rows the statement returned, inserted, updated or deleted.
    public var affectedRows: Int { storage.affectedRows }
    /// The server's command tag, such as `COMMIT`.
    var commandTag: String { storage.commandTag }

    /// The position of the first row.
    public var startIndex: Int { 0 }
    /// The number of rows.
    public var endIndex: Int { storage.rowCount }

    /// The row at `position`, from 0.
    public subscript(position: Int) -> PostgresRow {
        precondition(indices.contains(position), "row \(position) of \(count)")
        return PostgresRow(storage: storage, index: position)
    }

    /// Every row as a tuple: `try result.decode((UUID, String?).self)`.
    ///
    /// - Throws: ``PostgresError`` with code `decoding` if number, types or nullness of the columns do not fit.
    public func decode<each Value: PostgresDecodable>(
        _ types: (repeat each Value).Type
    ) throws(PostgresError) -> [(repeat each Value)] {
        var rows: [(repeat each Value)] = []
        rows.reserveCapacity(count)
        for row in self {
            rows.append(try row.decode(types))
        }
        return rows
    }

    /// Every row as one value: `try result.decode(UUID.self)`.
    ///
    /// - Throws: ``PostgresError`` with code `decoding` if number, type or nullness of the column do not fit.
    public func decode<Value: PostgresDecodable>(_ type: Value.Type) throws(PostgresError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for row in self {
            values.append(try row.decode(type))
        }
        return values
    }
}

/// One row of a result: either all its columns as a tuple, in the order of the statement, or each by its name.
public struct PostgresRow: Sendable {
    let storage: ResultStorage
    let index: Int

    /// All columns as a tuple: `let (id, name) = try row.decode((UUID, String?).self)`.
    ///
    /// - Throws: ``PostgresError`` with code `decoding` if number, types or nullness of the columns do not fit.
    public func decode<each Value: PostgresDecodable>(
        _ types: (repeat each Value).Type
    ) throws(PostgresError) -> (repeat each Value) {
        var expected = 0
        for _ in repeat (each Value).self { expected += 1 }
        try requireColumns(expected)
        var column = 0
        func next<Column: PostgresDecodable>(_: Column.Type) throws(PostgresError) -> Column {
            defer { column += 1 }
            return try decode(column: column)
        }
        return (repeat try next((each Value).self))
    }

    /// The only column.
    ///
    /// - Throws: ``PostgresError`` with code `decoding` if number, type or nullness of the column do not fit.
    public func decode<Value: PostgresDecodable>(_ type: Value.Type) throws(PostgresError) -> Value {
        try requireColumns(1)
        return try decode(column: 0)
    }

    /// The column with this name: `let locale: String? = try row.decode("locale")`.
    ///
    /// - Throws: ``PostgresError`` with code `decoding` if no column has the name or several have it, or type or
    ///   nullness do not fit.
    public func decode<Value: PostgresDecodable>(
        _ name: StaticString, as type: Value.Type = Value.self
    ) throws(PostgresError) -> Value {
        try decode(column: try storage.column(named: name))
    }

    private func decode<Value: PostgresDecodable>(column: Int) throws(PostgresError) -> Value {
        do throws(PostgresError) {
            return try storage.withCell(row: index, column: column, Value.decode)
        } catch {
            throw PostgresError(error.code, "column \(column) (\(storage.columnName(column))): \(error.message)")
        }
    }

    private func requireColumns(_ expected: Int) throws(PostgresError) {
        guard storage.columnCount == expected else {
            throw PostgresError(.decoding, "the row has \(storage.columnCount) columns, not \(expected)")
        }
    }
}

/// Owns libpq's result.
///
/// `@unchecked Sendable`: libpq documents that a received result is read-only and may be used from any thread. Nothing
/// here writes to it, and the last owner frees it once.
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
    /// The server's command tag, such as `COMMIT` or `INSERT 0 1`.
    var commandTag: String { String(cString: PQcmdStatus(result)) }

    func columnName(_ column: Int) -> String {
        PQfname(result, Int32(column)).map { String(cString: $0) } ?? ""
    }

    /// The index of the only column with this name. Rows are read by it, so it allocates nothing.
    func column(named name: StaticString) throws(PostgresError) -> Int {
        // A static string ends with a zero byte.
        let bytes = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        var found: Int?
        for column in 0..<columnCount {
            guard let other = PQfname(result, Int32(column)), other[0] == bytes[0], strcmp(other, bytes) == 0 else {
                continue
            }
            guard found == nil else {
                throw PostgresError(.decoding, "several columns have the name \(name)")
            }
            found = column
        }
        guard let found else { throw PostgresError(.decoding, "no column has the name \(name)") }
        return found
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
            return PostgresError(connectionLost: String(cString: PQresultErrorMessage(result)))
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
