/// A value that can be a parameter.
public protocol PostgresEncodable: Sendable {
    /// The type that is sent to the server, so that the server does not infer it.
    static var postgresType: PostgresType { get }
    /// The form of the bytes that ``encode(into:)`` writes; binary unless stated.
    static var postgresFormat: PostgresFormat { get }
    /// Appends the value's bytes to `bytes`; returns false, having appended nothing, for NULL.
    ///
    /// - Throws: ``PostgresError`` with code `encoding` if PostgreSQL has no such value.
    func encode(into bytes: inout [UInt8]) throws(PostgresError) -> Bool
}

extension PostgresEncodable {
    /// Binary.
    public static var postgresFormat: PostgresFormat { .binary }
}

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    /// The type of the wrapped value.
    public static var postgresType: PostgresType { Wrapped.postgresType }
    /// The form of the wrapped value.
    public static var postgresFormat: PostgresFormat { Wrapped.postgresFormat }

    /// Writes the wrapped value, or NULL.
    public func encode(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        guard let self else { return false }
        return try self.encode(into: &bytes)
    }
}

extension [UInt8] {
    /// Appends an integer in network byte order.
    mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}

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

/// The type of a parameter or column: PostgreSQL's object identifier from `pg_type`.
public struct PostgresType: Sendable, Hashable, CustomStringConvertible {
    /// The object identifier.
    public let oid: UInt32

    /// Any type, including one that is not named here.
    public init(_ oid: UInt32) {
        self.oid = oid
    }

    /// The server infers the type from the position of the parameter.
    public static let inferred = PostgresType(0)
    /// `boolean`
    public static let bool = PostgresType(16)
    /// `bytea`
    public static let bytea = PostgresType(17)
    /// `bigint`
    public static let int8 = PostgresType(20)
    /// `smallint`
    public static let int2 = PostgresType(21)
    /// `integer`
    public static let int4 = PostgresType(23)
    /// `text`
    public static let text = PostgresType(25)
    /// `json`
    public static let json = PostgresType(114)
    /// `real`
    public static let float4 = PostgresType(700)
    /// `double precision`
    public static let float8 = PostgresType(701)
    /// `timestamp with time zone`
    public static let timestamptz = PostgresType(1184)
    /// `uuid`
    public static let uuid = PostgresType(2950)
    /// `jsonb`
    public static let jsonb = PostgresType(3802)
    /// `boolean[]`
    public static let boolArray = PostgresType(1000)
    /// `smallint[]`
    public static let int2Array = PostgresType(1005)
    /// `integer[]`
    public static let int4Array = PostgresType(1007)
    /// `text[]`
    public static let textArray = PostgresType(1009)
    /// `bigint[]`
    public static let int8Array = PostgresType(1016)
    /// `double precision[]`
    public static let float8Array = PostgresType(1022)
    /// `timestamp with time zone[]`
    public static let timestamptzArray = PostgresType(1185)
    /// `uuid[]`
    public static let uuidArray = PostgresType(2951)

    /// The object identifier in decimal digits.
    public var description: String { String(oid) }

    /// Types whose binary form is not text: `String` refuses to read it.
    private static let notText: Set<PostgresType> = [
        bool, bytea, int8, int2, int4, float4, float8, timestamptz, uuid, jsonb, boolArray, int2Array, int4Array,
        textArray, int8Array, float8Array, timestamptzArray, uuidArray,
        // oid, inet, cidr, date, time, timestamp, interval, numeric: cast these to text, or request rows in text form.
        PostgresType(26), PostgresType(869), PostgresType(650), PostgresType(1082), PostgresType(1083),
        PostgresType(1114), PostgresType(1186), PostgresType(1700),
    ]

    var hasTextAsBinaryForm: Bool { !Self.notText.contains(self) }
}
