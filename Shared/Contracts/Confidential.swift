/// Holds a password, a token or another secret beside what may be seen: of a value nothing but its type is printed, logged,
/// dumped or mirrored. Its JSON is what it would be without.
public protocol Confidential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Confidential {
    public var description: String { "\(Self.self)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
