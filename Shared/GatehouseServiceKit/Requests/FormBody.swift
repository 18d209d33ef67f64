import Foundation
import GatehouseBytes
import GatehouseServiceContracts

/// Names and values as `application/x-www-form-urlencoded` (URL Standard §5): the body of a form, or the query of an
/// address.
public enum FormBody {
    /// Encodes names and values. Only unreserved characters (RFC 3986 §2.3) stay unencoded.
    public static func encode(_ parameters: [(String, String)]) -> String {
        parameters.map { name, value in "\(percentEncoded(name))=\(percentEncoded(value))" }.joined(separator: "&")
    }

    private static func percentEncoded(_ text: String) -> String {
        // Never `nil`, because every Swift string can be percent-encoded.
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

    /// Far more than any OAuth request has. The limit exists because each parameter costs work.
    static let maximumParameters = 128
    /// A value of up to this many bytes is accepted with any text.
    private static let freeValueLength = 2048

    /// Parses strictly: refuses invalid encoding, repeated names, and more than ``maximumParameters`` parameters.
    static func parse(_ bytes: [UInt8]) throws(Problem) -> FormParameters {
        var values: [VerbatimString: String] = [:]
        // The last piece contains everything after the limit.
        let pairs = bytes.split(separator: UInt8(ascii: "&"), maxSplits: maximumParameters)
        guard pairs.count <= maximumParameters else {
            throw Problem(.invalidRequest, "The form has more than \(maximumParameters) fields.")
        }
        for pair in pairs {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decode(parts[0], anyUpTo: 0),
                let value = decode(parts.count > 1 ? parts[1] : [], anyUpTo: freeValueLength), !name.isEmpty
            else { throw Problem(.invalidRequest) }
            guard values.updateValue(value, forKey: VerbatimString(name)) == nil else {
                throw Problem.invalid(name, "This occurs twice in the request.")
            }
        }
        return FormParameters(values: values)
    }

    /// Decodes a single name or value. Returns `nil` if it is not valid UTF-8, contains NUL, is encoded wrongly, or
    /// would take long to compare (``StreamSafeText``).
    public static func decode(_ text: Substring) -> String? {
        decode(Array(text.utf8)[...], anyUpTo: freeValueLength)
    }

    /// Decodes `+` and percent-encoding.
    private static func decode(_ bytes: ArraySlice<UInt8>, anyUpTo limit: Int) -> String? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            var byte = bytes[index]
            index += 1
            if byte == UInt8(ascii: "+") {
                byte = UInt8(ascii: " ")
            } else if byte == UInt8(ascii: "%") {
                guard index + 1 < bytes.endIndex, let high = Hexadecimal.value(bytes[index]),
                    let low = Hexadecimal.value(bytes[index + 1])
                else { return nil }
                byte = high << 4 | low
                index += 2
            }
            guard byte != 0 else { return nil }
            decoded.append(byte)
        }
        guard let text = String(validating: decoded, as: UTF8.self) else { return nil }
        return StreamSafeText.accepts(text, anyUpTo: limit) ? text : nil
    }
}

/// The parameters of a form by their names, which are compared byte by byte.
public struct FormParameters: Sendable {
    let values: [VerbatimString: String]

    /// The value; `nil` if the parameter is absent.
    public subscript(name: String) -> String? { values[VerbatimString(name)] }

    /// All parameters. Names that are equivalent in Unicode are merged, because Swift's strings compare as equal.
    public var dictionary: [String: String] {
        Dictionary(values.map { ($0.key.text, $0.value) }, uniquingKeysWith: { first, _ in first })
    }
}
