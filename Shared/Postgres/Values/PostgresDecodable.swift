/// A value that can be read from a column.
public protocol PostgresDecodable: Sendable {
    /// Reads the value.
    ///
    /// - Throws: ``PostgresError`` with code `decoding` if the column holds NULL, another type or another range.
    static func decode(_ cell: PostgresCell) throws(PostgresError) -> Self
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    /// Nil for NULL.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Wrapped? {
        cell.bytes == nil ? nil : try Wrapped.decode(cell)
    }
}

/// One column of one row, while it is being decoded.
public struct PostgresCell {
    /// The bytes as the server sent them, valid only while the value is decoded; nil is NULL.
    public let bytes: UnsafeRawBufferPointer?
    /// The column's type.
    public let type: PostgresType
    /// The form of ``bytes``.
    public let format: PostgresFormat

    /// The bytes.
    ///
    /// - Throws: ``PostgresError`` with code `decoding` for NULL.
    public func nonNull() throws(PostgresError) -> UnsafeRawBufferPointer {
        guard let bytes else { throw PostgresError(.decoding, "NULL where a value was expected") }
        return bytes
    }

    /// The error to throw when the column cannot be read as `type`.
    public func mismatch<Value>(_ type: Value.Type) -> PostgresError {
        PostgresError(.decoding, "type \(self.type) in \(format) form, \(bytes?.count ?? 0) bytes, is no \(type)")
    }

    /// A column in text form.
    func text() throws(PostgresError) -> String {
        guard let text = String(validating: try nonNull(), as: UTF8.self) else { throw mismatch(String.self) }
        return text
    }

    /// A big-endian integer that fills the column.
    func integer<Value: FixedWidthInteger>(_: Value.Type) throws(PostgresError) -> Value {
        let bytes = try nonNull()
        guard bytes.count == MemoryLayout<Value>.size else { throw mismatch(Value.self) }
        return Value(bigEndian: bytes.loadUnaligned(as: Value.self))
    }
}
