import Bytes

/// The parameters of a form by their names, which are compared byte by byte.
public struct FormParameters: Sendable {
    let values: [VerbatimString: String]

    /// The value; `nil` where there is no such parameter.
    public subscript(name: String) -> String? { values[VerbatimString(name)] }

    /// All of them, for whoever does not mind that Swift takes two spellings of a name for one.
    public var dictionary: [String: String] {
        Dictionary(values.map { ($0.key.text, $0.value) }, uniquingKeysWith: { first, _ in first })
    }
}
