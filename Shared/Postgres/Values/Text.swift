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

/// A parameter in PostgreSQL's text form, whose type the server infers from where it stands:
/// for types that have no Swift value here, such as `inet`, `numeric`, `interval` and enumerations.
public struct PostgresText: PostgresEncodable, Hashable {
    /// The value as `psql` would take it.
    public let text: String

    /// A value as `psql` would take it.
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
