/// The rows that a statement returned, in the order of the server. It keeps its memory until the last copy of it and of
/// its rows is gone.
public struct PostgresResult: Sendable, RandomAccessCollection {
    private let storage: ResultStorage

    init(_ storage: ResultStorage) {
        self.storage = storage
    }

    /// How many rows the statement returned, inserted, updated or deleted.
    public var affectedRows: Int { storage.affectedRows }
    /// What the server says it did, such as `COMMIT`.
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
