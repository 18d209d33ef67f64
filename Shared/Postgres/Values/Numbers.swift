// smallint, integer and bigint. Reading takes any of the three and converts where the value fits.

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
