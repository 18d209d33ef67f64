import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit

/// A payload for each locale, with placeholders such as `{{number}}` in its texts.
struct PushTemplate: Sendable, Equatable {
    /// The payload of one locale.
    struct Localization: Sendable, Equatable {
        let payload: JSONValue
        /// How often each placeholder occurs.
        let placeholders: [String: Int]

        /// - Parameter bytes: a template's file.
        init(_ bytes: [UInt8]) throws(InvalidTemplate) {
            guard let payload = try? StrictJSON.decode(JSONValue.self, from: bytes), case .object = payload else {
                throw InvalidTemplate(description: "is not a JSON object")
            }
            var placeholders: [String: Int] = [:]
            _ = try payload.replacingPlaceholders {
                placeholders[$0, default: 0] += 1
                return ""
            }
            self.payload = payload
            self.placeholders = placeholders
        }

        /// A lower bound of the payload's bytes with these arguments.
        func minimumSize(_ arguments: [String: String]) -> Int {
            placeholders.reduce(0) { $0 + $1.value * (arguments[$1.key]?.utf8.count ?? 0) }
        }

        /// A missing argument counts as empty.
        func render(_ arguments: [String: String]) throws -> JSONValue {
            try payload.replacingPlaceholders { arguments[$0] ?? "" }
        }
    }

    static let maximumLocales = 64
    /// Bytes of a file.
    static let maximumFile = 8192

    /// By language tag in lower case.
    let localizations: [String: Localization]
    let fallback: String
    /// Those of all locales.
    let placeholders: Set<String>

    /// - Throws: a template without the fallback locale.
    init(_ localizations: [String: Localization], fallback: String) throws(InvalidTemplate) {
        guard localizations[fallback] != nil else {
            throw InvalidTemplate(description: "has no file of the fallback locale, \(fallback).json")
        }
        guard localizations.count <= Self.maximumLocales else {
            throw InvalidTemplate(description: "has more than \(Self.maximumLocales) locales")
        }
        self.localizations = localizations
        self.fallback = fallback
        placeholders = localizations.values.reduce(into: []) { $0.formUnion($1.placeholders.keys) }
    }

    static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }
}

/// An error in a template's file.
struct InvalidTemplate: Error, Equatable, CustomStringConvertible {
    let description: String
}

/// Language tags from the most to the least specific: `zh-Hant-TW`, `zh-Hant`, `zh`. RFC 4647 §3.4, Lookup.
enum LocaleLookup {
    static func first<Value>(for locale: String?, in values: [String: Value]) -> Value? {
        guard !values.isEmpty, let locale else { return nil }
        var subtags = locale.lowercased().split(separator: "-")
        while !subtags.isEmpty {
            if let value = values[subtags.joined(separator: "-")] { return value }
            subtags.removeLast()
            // A single letter begins an extension, and means nothing without it.
            if subtags.last?.utf8.count == 1 { subtags.removeLast() }
        }
        return nil
    }
}

extension JSONValue {
    /// Replaces the placeholders in each text. What replaces them is not examined again.
    ///
    /// - Throws: a text with an invalid placeholder, or one in a member's name.
    fileprivate func replacingPlaceholders(
        _ value: (String) -> String
    ) throws(InvalidTemplate) -> JSONValue {
        switch self {
        case .string(let text): return .string(try Placeholders.replace(in: text, value))
        case .array(let elements):
            var replaced: [JSONValue] = []
            for element in elements { replaced.append(try element.replacingPlaceholders(value)) }
            return .array(replaced)
        case .object(let members):
            var replaced: [VerbatimString: JSONValue] = [:]
            for (name, member) in members {
                guard !name.text.contains("{{") else {
                    throw InvalidTemplate(description: "has a placeholder in the name of a member: \(name)")
                }
                replaced[name] = try member.replacingPlaceholders(value)
            }
            return .object(replaced)
        case .null, .bool, .number: return self
        }
    }
}

/// Placeholders in a text: a name of ASCII letters, digits, hyphens and underscores in two braces.
private enum Placeholders {
    static func replace(in text: String, _ value: (String) -> String) throws(InvalidTemplate) -> String {
        let (open, close) = (Array("{{".utf8), Array("}}".utf8))
        var rest = Array(text.utf8)[...]
        var replaced: [UInt8] = []
        while let start = rest.firstRange(of: open) {
            replaced += rest[..<start.lowerBound]
            rest = rest[start.upperBound...]
            guard let end = rest.firstRange(of: close) else {
                throw InvalidTemplate(description: "has a placeholder without an end: \(text)")
            }
            let name = String(decoding: rest[..<end.lowerBound], as: UTF8.self)
            guard PushTemplate.isName(name) else {
                throw InvalidTemplate(description: "has a placeholder with an invalid name: {{\(name)}}")
            }
            replaced += value(name).utf8
            rest = rest[end.upperBound...]
        }
        return String(decoding: replaced + rest, as: UTF8.self)
    }
}
