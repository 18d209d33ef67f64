/// What Redis answers (RESP2).
///
/// An error answer is thrown as ``RedisError``; ``error(_:)`` occurs only inside an array (after `EXEC`, or made
/// by a script).
public enum RedisValue: Sendable, Hashable {
    case null
    case integer(Int64)
    /// A bulk string, or a status such as `OK`.
    case string([UInt8])
    case array([RedisValue])
    /// One element's error, in the server's words.
    case error(String)

    public var isNull: Bool { self == .null }

    /// The integer, also where it stands as decimal text.
    public var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .string(let bytes): Int64(String(decoding: bytes, as: UTF8.self))
        default: nil
        }
    }

    /// The bytes of a string.
    public var bytes: [UInt8]? {
        guard case .string(let bytes) = self else { return nil }
        return bytes
    }

    /// The text of a string; `nil` also where the bytes are no UTF-8.
    public var string: String? {
        bytes.flatMap { String(validating: $0, as: UTF8.self) }
    }

    public var array: [RedisValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }
}
