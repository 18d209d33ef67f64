public import Foundation

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
