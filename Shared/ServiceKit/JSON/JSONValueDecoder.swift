import Foundation

/// Decodes Swift types from a JSON tree, without Foundation's leniency.
struct JSONValueDecoder: Decoder {
    let value: JSONValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value else { throw mismatch(type, "This must be an object.") }
        return KeyedDecodingContainer(JSONObjectContainer(members: members, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw mismatch([Any].self, "This must be a list.") }
        return JSONArrayContainer(elements: elements, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        JSONSingleValueContainer(decoder: self)
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        // Foundation's own `Date` and `URL` expect the decoder to know better.
        switch type {
        case is Date.Type: return try date() as! Value
        case is URL.Type: return try url() as! Value
        default: return try Value(from: self)
        }
    }

    func bool() throws -> Bool {
        guard case .bool(let bool) = value else { throw mismatch(Bool.self, "This must be true or false.") }
        return bool
    }

    func string() throws -> String {
        guard case .string(let string) = value else { throw mismatch(String.self, "This must be a text.") }
        return string
    }

    /// A whole number in digits alone: neither `1.0` nor `1e0` is one.
    func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Integer {
        guard case .number(let digits) = value, let integer = Integer(digits) else {
            throw mismatch(type, "This must be a whole number.")
        }
        return integer
    }

    func double() throws -> Double {
        guard case .number(let text) = value, let double = Double(text), double.isFinite else {
            throw mismatch(Double.self, "This must be a number.")
        }
        return double
    }

    func mismatch(_ type: Any.Type, _ message: String) -> DecodingError {
        .typeMismatch(type, .init(codingPath: codingPath, debugDescription: message))
    }

    private func date() throws -> Date {
        let text = try string()
        guard let date = try? Date(text, strategy: .iso8601) else {
            throw mismatch(Date.self, "This must be a time as in 2026-11-20T12:00:00Z.")
        }
        return date
    }

    private func url() throws -> URL {
        guard let url = try URL(string: string()) else { throw mismatch(URL.self, "This must be an address.") }
        return url
    }
}

/// An index in a list, as part of a path.
struct JSONIndexKey: CodingKey {
    let intValue: Int?
    var stringValue: String { intValue.map(String.init) ?? "" }

    init(intValue: Int) { self.intValue = intValue }
    init?(stringValue: String) { nil }
}
