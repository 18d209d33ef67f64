/// Why a text is not taken as JSON. It holds nothing of the text.
public struct JSONError: Error, Equatable, CustomStringConvertible {
    /// The kind of fault.
    public enum Code: Sendable, Equatable {
        /// A byte that may not stand where it does.
        case unexpectedByte
        /// The text ends too early.
        case unexpectedEnd
        /// Something follows the end of the JSON.
        case trailingBytes
        /// Objects and arrays within one another, more than are taken.
        case tooDeep
        /// A name that stands twice in one object.
        case duplicateName
        /// A number that is not written as one, or not of the kind or range that was asked for.
        case invalidNumber
        /// A control character, an unknown escape, half of a surrogate pair.
        case invalidString
        /// Bytes that are not UTF-8.
        case invalidUTF8
        /// More combining marks in a row than any language needs (``StreamSafeText``).
        case notStreamSafe
    }

    public let code: Code
    /// The offset of the byte at which it was seen.
    public let offset: Int

    public init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }

    public var description: String { "\(code) at byte \(offset)" }
}
