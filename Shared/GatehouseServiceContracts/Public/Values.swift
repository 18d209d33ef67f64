public import Foundation

/// A UUID that is written in lower case (RFC 9562 §4), as in tokens, header fields and databases. Foundation would
/// write upper case. Both are read.
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

/// An open enumeration of the contract: new values may be added. Readers accept unknown values and write them back
/// unchanged.
///
/// Code that branches on a value must define the meaning of unknown ones. Code that acts on a client's value must check
/// that it is among ``known``.
public protocol OpenValue: RawRepresentable<String>, Codable, Hashable, Sendable, CustomStringConvertible {
    init(rawValue: String)

    /// The values that this version knows.
    static var known: [Self] { get }
}

extension OpenValue {
    /// Compares bytes. `==` would also accept a value that is only canonically equivalent in Unicode, and it would be
    /// written back with its own bytes.
    public var isKnown: Bool { Self.known.contains { $0.rawValue.utf8.elementsEqual(rawValue.utf8) } }

    public var description: String { rawValue }
}

/// A type that holds a password, a token or another secret. Printing, logging, dumping or mirroring a value shows only
/// its type. Its JSON is unaffected.
public protocol Confidential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Confidential {
    public var description: String { "\(Self.self)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
