public import Foundation

/// The one way in which Gatehouse writes and reads JSON: camelCase keys, times in ISO 8601 UTC without fractions.
public enum JSON {
    /// Writes `value`. Keys stand in alphabetical order, so that equal values have equal bytes.
    public static func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value)
    }

    /// Reads a value from text that has passed a strict check where it came from outside:
    /// Foundation's decoder accepts duplicate keys and trailing commas.
    public static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(type, from: data)
    }
}
