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

/// An identifier that is written in lower case (RFC 9562 §4), as tokens, header fields and databases have it, where
/// Foundation would write upper case. Both are read.
@propertyWrapper
public struct LowercaseUUID: Codable, Sendable, Hashable {
    public var wrappedValue: UUID

    public init(wrappedValue: UUID) {
        self.wrappedValue = wrappedValue
    }

    public init(from decoder: any Decoder) throws {
        wrappedValue = try decoder.singleValueContainer().decode(UUID.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue.uuidString.lowercased())
    }
}

/// A value of which there may be more tomorrow: a word of the contract that readers keep when they do not know it, and
/// write again as it was.
///
/// Whoever decides by one says what an unknown one means; whoever takes one from a client and has to act on it asks
/// whether it is among ``known``.
public protocol OpenValue: RawRepresentable<String>, Codable, Hashable, Sendable, CustomStringConvertible {
    init(rawValue: String)

    /// Those of this version.
    static var known: [Self] { get }
}

extension OpenValue {
    /// By its bytes: to `==` one that Unicode calls equivalent would be known too, and written again as it came.
    public var isKnown: Bool { Self.known.contains { $0.rawValue.utf8.elementsEqual(rawValue.utf8) } }

    public var description: String { rawValue }
}

/// Holds a password, a token or another secret beside what may be seen: of a value nothing but its type is printed, logged,
/// dumped or mirrored. Its JSON is what it would be without.
public protocol Confidential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Confidential {
    public var description: String { "\(Self.self)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
