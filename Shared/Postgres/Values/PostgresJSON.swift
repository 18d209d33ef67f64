import Foundation

/// A value that is kept as `jsonb`. Dates are ISO 8601.
public struct PostgresJSON<Value: Codable & Sendable>: PostgresEncodable, PostgresDecodable {
    /// The value.
    public var value: Value

    /// Wraps a value.
    public init(_ value: Value) {
        self.value = value
    }

    /// `jsonb`
    public static var postgresType: PostgresType { .jsonb }

    /// Writes JSON.
    public func encode(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        do {
            bytes.append(PostgresJSONBytes.version)
            bytes.append(contentsOf: try PostgresJSONBytes.encoder.encode(value))
            return true
        } catch {
            throw PostgresError(.encoding, "\(Value.self) is not encodable as JSON", underlying: error)
        }
    }

    /// Reads jsonb or json.
    public static func decode(_ cell: PostgresCell) throws(PostgresError) -> PostgresJSON {
        let body = try PostgresJSONBytes.body(of: cell)
        do {
            return PostgresJSON(try PostgresJSONBytes.decoder.decode(Value.self, from: Data(body)))
        } catch {
            throw PostgresError(.decoding, "the JSON is no \(Value.self)", underlying: error)
        }
    }
}

extension PostgresJSON: Equatable where Value: Equatable {}

enum PostgresJSONBytes {
    /// The byte before the text in jsonb's binary form.
    static let version: UInt8 = 1

    static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        return encoder
    }()

    static let decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return decoder
    }()

    /// The JSON text of a json or jsonb column.
    static func body(of cell: PostgresCell) throws(PostgresError) -> Slice<UnsafeRawBufferPointer> {
        let bytes = try cell.nonNull()
        switch (cell.type, cell.format) {
        case (.jsonb, .binary) where bytes.first == version: return bytes.dropFirst()
        case (.json, _), (.jsonb, .text): return bytes[...]
        default: throw cell.mismatch(String.self)
        }
    }
}
