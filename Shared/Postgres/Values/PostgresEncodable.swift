/// A value that can be a parameter.
public protocol PostgresEncodable: Sendable {
    /// The type that the server is told, so that it never has to guess.
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
