public import Foundation

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
