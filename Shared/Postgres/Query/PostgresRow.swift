/// One row of a result. Columns are read by position: name them in the statement.
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

    /// The column at `column`, from 0.
    ///
    /// - Throws: ``PostgresError`` with code `decoding` if there is no such column, or type or nullness do not fit.
    public func decode<Value: PostgresDecodable>(
        _ type: Value.Type = Value.self, column: Int
    ) throws(PostgresError) -> Value {
        guard (0..<storage.columnCount).contains(column) else {
            throw PostgresError(.decoding, "no column \(column) in a row of \(storage.columnCount)")
        }
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
