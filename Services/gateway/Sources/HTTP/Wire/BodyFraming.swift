/// How the end of a body is found (RFC 9112 §6.3).
enum BodyFraming: Equatable, Sendable {
    case length(Int)
    case chunked
    /// The connection's end is the body's end; responses only.
    case untilClose

    /// Bytes, where they are known beforehand.
    var length: Int? { if case .length(let length) = self { length } else { nil } }
}
