import Foundation
import GatehouseBytes
public import GatehouseServiceContracts

/// Strict decoding of untrusted JSON: RFC 8259, without its ambiguities.
///
/// Foundation's decoder accepts duplicate keys (it uses the first), trailing commas, a byte-order mark, NUL in strings,
/// and `1.0` for a whole number. This decoder refuses all of these. It also refuses text that would take long to
/// compare (``StreamSafeText``), in a name and in a value of more than 2 KiB.
public enum StrictJSON {
    /// Decodes a value. Unknown keys are ignored; `null` counts as absent; times are ISO 8601 in UTC.
    ///
    /// - Throws: `INVALID_REQUEST`, with the dotted path of the invalid field, if any.
    public static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws(Problem) -> Value {
        let tree: JSONValue
        do {
            tree = try JSONValue(strict: bytes)
        } catch {
            throw Problem(.invalidRequest, "The request's body is not valid JSON.")
        }
        do {
            return try JSONValueDecoder(value: tree, codingPath: []).decode(Value.self)
        } catch let error as DecodingError {
            throw problem(for: error)
        } catch {
            throw Problem(.invalidRequest)
        }
    }

    /// The bytes of a member of a JSON object, as they were written; `nil` without such a member.
    ///
    /// - Parameter bytes: any text. Of one that ``decode(_:from:)`` refuses, the result has no meaning.
    public static func bytes(ofMember name: String, in bytes: [UInt8]) -> ArraySlice<UInt8>? {
        JSONValue.range(ofMember: VerbatimString(name), in: bytes).map { bytes[$0] }
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

/// The body of a request without fields: empty, or an object whose fields are ignored.
public struct NoFields: Decodable, Sendable {
    private enum Field: CodingKey {}

    public init(from decoder: any Decoder) throws {
        _ = try decoder.container(keyedBy: Field.self)
    }
}
