public import Foundation

/// Gatehouse's JSON: camelCase keys, times in ISO 8601 UTC without fractions.
public enum JSON {
    /// Writes `value`. Keys are in alphabetical order, so that equal values have equal bytes.
    public static func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value)
    }

    /// Reads a value. The caller must first check untrusted text strictly, because Foundation's decoder accepts
    /// duplicate keys and trailing commas.
    public static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(type, from: data)
    }
}
