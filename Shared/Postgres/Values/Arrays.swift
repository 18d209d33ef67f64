public import Foundation

/// A type that has arrays in PostgreSQL.
public protocol PostgresArrayElement: PostgresEncodable, PostgresDecodable {
    /// The type of an array of this.
    static var postgresArrayType: PostgresType { get }
    /// Writes an array of this.
    static func encode(_ array: [Self], into bytes: inout [UInt8]) throws(PostgresError)
    /// Reads an array of this.
    static func decode(arrayIn cell: PostgresCell) throws(PostgresError) -> [Self]
}

extension Array: PostgresEncodable where Element: PostgresArrayElement {
    /// The array type of the element; `bytea` for `[UInt8]`.
    public static var postgresType: PostgresType { Element.postgresArrayType }

    /// Writes a one-dimensional array.
    public func encode(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        try Element.encode(self, into: &bytes)
        return true
    }
}

extension Array: PostgresDecodable where Element: PostgresArrayElement {
    /// Reads a one-dimensional array without NULLs, in binary form; bytea for `[UInt8]`.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> [Element] {
        try Element.decode(arrayIn: cell)
    }
}

extension PostgresArrayElement {
    /// Dimensions, a flag for NULLs, the element type, length and first index of the dimension; then each element with
    /// its length (`array_recv` in PostgreSQL's source).
    public static func encode(_ array: [Self], into bytes: inout [UInt8]) throws(PostgresError) {
        bytes.append(bigEndian: Int32(array.isEmpty ? 0 : 1))
        bytes.append(bigEndian: Int32(0))
        bytes.append(bigEndian: postgresType.oid)
        if array.isEmpty { return }
        bytes.append(bigEndian: Int32(array.count))
        bytes.append(bigEndian: Int32(1))
        for element in array {
            let start = bytes.count
            bytes.append(bigEndian: Int32(0))
            _ = try element.encode(into: &bytes)
            let length = Int32(bytes.count - start - 4)
            withUnsafeBytes(of: length.bigEndian) { bytes.replaceSubrange(start..<start + 4, with: $0) }
        }
    }

    /// Reads what ``encode(_:into:)`` writes.
    public static func decode(arrayIn cell: PostgresCell) throws(PostgresError) -> [Self] {
        guard cell.type == postgresArrayType, cell.format == .binary else { throw cell.mismatch([Self].self) }
        var rest = try cell.nonNull()[...]
        func next() throws(PostgresError) -> Int32 {
            guard rest.count >= 4 else { throw cell.mismatch([Self].self) }
            defer { rest = rest.dropFirst(4) }
            return Int32(bigEndian: UnsafeRawBufferPointer(rebasing: rest).loadUnaligned(as: Int32.self))
        }
        let dimensions = try next()
        _ = try next()
        let type = PostgresType(UInt32(bitPattern: try next()))
        if dimensions == 0 { return [] }
        guard dimensions == 1 else { throw cell.mismatch([Self].self) }
        let count = Int(try next())
        _ = try next()
        var array: [Self] = []
        array.reserveCapacity(Swift.min(count, rest.count / 4))
        for _ in 0..<count {
            let length = Int(try next())
            guard length >= 0 else { throw PostgresError(.decoding, "NULL in an array") }
            guard length <= rest.count else { throw cell.mismatch([Self].self) }
            let bytes = UnsafeRawBufferPointer(rebasing: rest.prefix(length))
            array.append(try decode(PostgresCell(bytes: bytes, type: type, format: .binary)))
            rest = rest.dropFirst(length)
        }
        return array
    }
}

extension String: PostgresArrayElement {
    /// `text[]`
    public static var postgresArrayType: PostgresType { .textArray }
}

extension UUID: PostgresArrayElement {
    /// `uuid[]`
    public static var postgresArrayType: PostgresType { .uuidArray }
}

extension Int: PostgresArrayElement {
    /// `bigint[]`
    public static var postgresArrayType: PostgresType { .int8Array }
}

extension Int64: PostgresArrayElement {
    /// `bigint[]`
    public static var postgresArrayType: PostgresType { .int8Array }
}

extension Int32: PostgresArrayElement {
    /// `integer[]`
    public static var postgresArrayType: PostgresType { .int4Array }
}

extension Int16: PostgresArrayElement {
    /// `smallint[]`
    public static var postgresArrayType: PostgresType { .int2Array }
}

extension Double: PostgresArrayElement {
    /// `double precision[]`
    public static var postgresArrayType: PostgresType { .float8Array }
}

extension Bool: PostgresArrayElement {
    /// `boolean[]`
    public static var postgresArrayType: PostgresType { .boolArray }
}

extension Date: PostgresArrayElement {
    /// `timestamp with time zone[]`
    public static var postgresArrayType: PostgresType { .timestamptzArray }
}

/// An array of bytes is `bytea`; a byte alone has no type in PostgreSQL.
extension UInt8: PostgresArrayElement {
    /// `bytea`
    public static var postgresType: PostgresType { .bytea }
    /// `bytea`
    public static var postgresArrayType: PostgresType { .bytea }

    /// Writes a bytea of one byte.
    public func encode(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        bytes.append(self)
        return true
    }

    /// Reads a bytea of one byte.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> UInt8 {
        let bytes = try decode(arrayIn: cell)
        guard bytes.count == 1 else { throw cell.mismatch(UInt8.self) }
        return bytes[0]
    }

    /// Writes the bytes.
    public static func encode(_ array: [UInt8], into bytes: inout [UInt8]) throws(PostgresError) {
        bytes.append(contentsOf: array)
    }

    /// Reads bytea.
    public static func decode(arrayIn cell: PostgresCell) throws(PostgresError) -> [UInt8] {
        try PostgresBytes.decode(cell)
    }
}
