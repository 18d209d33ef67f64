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
