import Bytes
public import Contracts
import Foundation

/// JSON from outside, read strictly (RFC 8259, and of what it leaves open only one reading).
///
/// Foundation's decoder takes the first of two equal keys, trailing commas, a byte-order mark, NUL in strings and
/// `1.0` for a whole number; none of that passes here. Nor does text that would take long to compare, as
/// ``StreamSafeText`` has it: in a name, and in a value of more than 2 KiB.
public enum StrictJSON {
    /// Decodes a value. Unknown keys are ignored; `null` is as if absent; times are ISO 8601 in UTC.
    ///
    /// - Throws: `INVALID_REQUEST`, with the field by its dotted path where one is to blame.
    public static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws(Problem) -> Value {
        let tree: JSONValue
        do {
            tree = try parse(bytes)
        } catch {
            throw Problem(.invalidRequest, "The request's body is not valid JSON.")
        }
        do {
            return try Value(from: JSONValueDecoder(value: tree, codingPath: []))
        } catch let error as DecodingError {
            throw problem(for: error)
        } catch {
            throw Problem(.invalidRequest)
        }
    }

    static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
        var parser = StrictJSONParser(bytes)
        return try parser.parseDocument()
    }

    private static func problem(for error: DecodingError) -> Problem {
        let (path, message): ([any CodingKey], String) =
            switch error {
            case .keyNotFound(let key, let context): (context.codingPath + [key], "This is missing.")
            case .valueNotFound(_, let context): (context.codingPath, "This is missing.")
            case .typeMismatch(_, let context): (context.codingPath, context.debugDescription)
            case .dataCorrupted(let context): (context.codingPath, "This has a value that is not allowed.")
            @unknown default: ([], "")
            }
        guard !path.isEmpty else {
            return Problem(.invalidRequest, "The request's body must be a JSON object.")
        }
        return .invalid(path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: "."), message)
    }
}
