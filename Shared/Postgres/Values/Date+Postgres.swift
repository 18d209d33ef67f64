public import Foundation

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
        // Whole seconds apart from the fraction: one division of the whole would lose the last digit.
        let (seconds, fraction) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return Date(
            timeIntervalSinceReferenceDate: Double(seconds) - epochDistance + Double(fraction) / 1_000_000)
    }
}
