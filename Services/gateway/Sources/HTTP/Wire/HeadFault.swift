import Contracts

/// Why a message is refused. Its connection is closed, because nobody can tell where the next message would begin.
enum HeadFault: Error, Equatable {
    /// What is wrong, for logs and metrics; it holds nothing of the message itself.
    case malformed(String)
    /// Longer than `HeadLimits.bytes`, or more fields than `HeadLimits.fields`.
    case tooLarge
    /// A longer target than `HeadLimits.target`.
    case targetTooLong
    /// Another version than HTTP/1.1.
    case version

    /// What the client is told.
    var code: ErrorCode {
        switch self {
        case .malformed: .invalidRequest
        case .tooLarge: .headersTooLarge
        case .targetTooLong: .targetTooLong
        case .version: .versionNotSupported
        }
    }

    /// For logs and metrics.
    var reason: String {
        if case .malformed(let reason) = self { "malformed: \(reason)" } else { code.rawValue }
    }
}

/// Caps on the head of a message, and on a chunked body's trailer section.
struct HeadLimits: Sendable {
    /// Of what others send.
    static let bytes = 16 * 1024
    static let fields = 100
    static let received = HeadLimits(mostBytes: bytes, mostFields: fields)
    /// Of what the gateway writes: the head that it has received, with its own lines. `FieldLine` counts no further.
    static let written = HeadLimits(mostBytes: Int(UInt16.max), mostFields: 2 * fields)
    /// Path and query.
    static let target = 8 * 1024
    /// The value of `Authorization` after the scheme.
    static let bearer = 8 * 1024
    /// A name of the longest kind (RFC 1035), and a port.
    static let host = 255 + 6
    /// What `Connection` may name: each field of a message is compared with each of them.
    static let connectionOptions = 16
    static let connectionBytes = 1024

    let mostBytes: Int
    let mostFields: Int
}
