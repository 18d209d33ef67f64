public import Foundation

// smallint, integer and bigint. Reading accepts any of the three and converts the value if it fits.

extension FixedWidthInteger where Self: PostgresEncodable {
    /// Writes the integer in network byte order.
    public func encode(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        bytes.append(bigEndian: self)
        return true
    }
}

extension FixedWidthInteger where Self: PostgresDecodable {
    /// Reads smallint, integer or bigint.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Self {
        let value: Self?
        switch (cell.format, cell.type) {
        case (.text, _): value = Self(try cell.text())
        case (.binary, .int8): value = Self(exactly: try cell.integer(Int64.self))
        case (.binary, .int4): value = Self(exactly: try cell.integer(Int32.self))
        case (.binary, .int2): value = Self(exactly: try cell.integer(Int16.self))
        default: value = nil
        }
        guard let value else { throw cell.mismatch(Self.self) }
        return value
    }
}

extension Int16: PostgresEncodable, PostgresDecodable {
    /// `smallint`
    public static var postgresType: PostgresType { .int2 }
}

extension Int32: PostgresEncodable, PostgresDecodable {
    /// `integer`
    public static var postgresType: PostgresType { .int4 }
}

extension Int64: PostgresEncodable, PostgresDecodable {
    /// `bigint`
    public static var postgresType: PostgresType { .int8 }
}

extension Int: PostgresEncodable, PostgresDecodable {
    /// `bigint`
    public static var postgresType: PostgresType { .int8 }
}

extension Double: PostgresEncodable, PostgresDecodable {
    /// `double precision`
    public static var postgresType: PostgresType { .float8 }

    /// Writes the number as IEEE 754.
    public func encode(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        bytes.append(bigEndian: bitPattern)
        return true
    }

    /// Reads double precision or real.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Double {
        let value: Double?
        switch (cell.format, cell.type) {
        case (.text, _): value = Double(try cell.text())
        case (.binary, .float8): value = Double(bitPattern: try cell.integer(UInt64.self))
        case (.binary, .float4): value = Double(Float(bitPattern: try cell.integer(UInt32.self)))
        default: value = nil
        }
        guard let value else { throw cell.mismatch(Double.self) }
        return value
    }
}

extension Bool: PostgresEncodable, PostgresDecodable {
    /// `boolean`
    public static var postgresType: PostgresType { .bool }

    /// Writes one byte.
    public func encode(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        bytes.append(self ? 1 : 0)
        return true
    }

    /// Reads boolean.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Bool {
        let bytes = try cell.nonNull()
        guard cell.type == .bool, bytes.count == 1 else { throw cell.mismatch(Bool.self) }
        return cell.format == .text ? bytes[0] == UInt8(ascii: "t") : bytes[0] != 0
    }
}

extension String: PostgresEncodable, PostgresDecodable {
    /// `text`
    public static var postgresType: PostgresType { .text }

    /// Writes UTF-8. The server refuses U+0000 (SQLSTATE 22021).
    public func encode(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        bytes.append(contentsOf: utf8)
        return true
    }

    /// Reads text, varchar, enumerations and the like, json and jsonb; any type in text form.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> String {
        if cell.format == .binary, cell.type == .jsonb {
            return String(decoding: try PostgresJSONBytes.body(of: cell), as: UTF8.self)
        }
        guard cell.format == .text || cell.type.hasTextAsBinaryForm else { throw cell.mismatch(String.self) }
        return try cell.text()
    }
}

/// A parameter in PostgreSQL's text form, whose type the server infers from its position: for types that have no Swift
/// value here, such as `inet`, `numeric`, `interval` and enumerations.
public struct PostgresText: PostgresEncodable, Hashable {
    /// The value as `psql` would accept it.
    public let text: String

    /// A value as `psql` would accept it.
    public init(_ text: String) {
        self.text = text
    }

    /// Inferred by the server.
    public static var postgresType: PostgresType { .inferred }
    /// Text.
    public static var postgresFormat: PostgresFormat { .text }

    /// Writes the text.
    public func encode(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        guard !text.utf8.contains(0) else { throw PostgresError(.encoding, "U+0000 in a text") }
        return try text.encode(into: &bytes)
    }
}

// `[UInt8]` is bytea too: see Arrays.swift.

extension Data: PostgresEncodable, PostgresDecodable {
    /// `bytea`
    public static var postgresType: PostgresType { .bytea }

    /// Writes the bytes.
    public func encode(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        bytes.append(contentsOf: self)
        return true
    }

    /// Reads bytea.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Data {
        Data(try [UInt8].decode(cell))
    }
}

enum PostgresBytes {
    static func decode(_ cell: PostgresCell) throws(PostgresError) -> [UInt8] {
        let bytes = try cell.nonNull()
        guard cell.type == .bytea else { throw cell.mismatch([UInt8].self) }
        return cell.format == .binary ? Array(bytes) : try decodeHex(bytes, cell)
    }

    /// The text form: `\x` and two hexadecimal digits for each byte.
    private static func decodeHex(
        _ text: UnsafeRawBufferPointer, _ cell: PostgresCell
    ) throws(PostgresError) -> [UInt8] {
        let digits = text.dropFirst(2).map { Character(Unicode.Scalar($0)).hexDigitValue }
        guard text.starts(with: "\\x".utf8), digits.count.isMultiple(of: 2), !digits.contains(nil) else {
            throw cell.mismatch([UInt8].self)
        }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0]! << 4 | digits[$0 + 1]!) }
    }
}

extension Date: PostgresEncodable, PostgresDecodable {
    /// `timestamp with time zone`
    public static var postgresType: PostgresType { .timestamptz }

    /// PostgreSQL counts microseconds from 2000-01-01, Foundation seconds from 2001-01-01 (both UTC): 366 days apart.
    private static let epochDistance = 366.0 * 86_400

    /// Writes the moment to the microsecond.
    public func encode(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        let microseconds = ((timeIntervalSinceReferenceDate + Self.epochDistance) * 1_000_000).rounded()
        // The two ends of the range mean minus and plus infinity.
        guard let value = Int64(exactly: microseconds), value != .min, value != .max else {
            throw PostgresError(.encoding, "a date outside of the range of timestamptz")
        }
        bytes.append(bigEndian: value)
        return true
    }

    /// Reads timestamp with time zone, in binary form. `infinity` is refused.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> Date {
        guard cell.type == .timestamptz, cell.format == .binary else { throw cell.mismatch(Date.self) }
        let microseconds = try cell.integer(Int64.self)
        guard microseconds != .min, microseconds != .max else {
            throw PostgresError(.decoding, "infinity is no Date")
        }
        // Converts whole seconds and fraction separately, because a single division would lose the last digit.
        let (seconds, fraction) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return Date(
            timeIntervalSinceReferenceDate: Double(seconds) - epochDistance + Double(fraction) / 1_000_000)
    }
}

extension UUID: PostgresEncodable, PostgresDecodable {
    /// `uuid`
    public static var postgresType: PostgresType { .uuid }

    /// Writes 16 bytes.
    public func encode(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        Swift.withUnsafeBytes(of: uuid) { bytes.append(contentsOf: $0) }
        return true
    }

    /// Reads uuid.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> UUID {
        let bytes = try cell.nonNull()
        if cell.format == .text, let uuid = UUID(uuidString: try cell.text()) { return uuid }
        guard cell.type == .uuid, bytes.count == 16 else { throw cell.mismatch(UUID.self) }
        return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }
}
