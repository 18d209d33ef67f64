import Crypto
import NIOCore

/// A Lua script that the server runs as one indivisible step.
public struct RedisScript: Sendable {
    /// The Lua source.
    public let source: String
    /// The script's key in the server's cache: SHA-1 in hex.
    public let digest: String

    /// Create it once, as a `static let`, because this computes the digest.
    public init(_ source: String) {
        self.source = source
        let hex = Array("0123456789abcdef".utf8)
        self.digest = String(
            decoding: Insecure.SHA1.hash(data: Array(source.utf8)).flatMap { [hex[Int($0 >> 4)], hex[Int($0 & 15)]] },
            as: UTF8.self)
    }
}

extension RedisClient {
    /// Runs a script by its digest (`EVALSHA`), and with its source (`EVAL`) if the server does not have it: the first
    /// time, after a restart or a `SCRIPT FLUSH`.
    ///
    /// - Parameters:
    ///   - keys: the keys that the script touches (`KEYS`).
    ///   - timeout: for each of the two commands; `nil` uses the configuration's.
    /// - Throws: ``RedisError``; an error in the script has the code ``RedisError/Code/server``.
    @discardableResult
    public func run(
        _ script: RedisScript, keys: [String], arguments: [RedisArgument] = [], timeout: Duration? = nil
    ) async throws(RedisError) -> RedisValue {
        var words: [RedisArgument] = ["EVALSHA", RedisArgument(script.digest), RedisArgument(keys.count)]
        words.reserveCapacity(3 + keys.count + arguments.count)
        for key in keys { words.append(RedisArgument(key)) }
        words += arguments
        do {
            return try await send(words, timeout: timeout)
        } catch let error where error.serverCode == "NOSCRIPT" {
            words[0] = "EVAL"
            words[1] = RedisArgument(script.source)
            return try await send(words, timeout: timeout)
        }
    }
}

/// One word of a command: its name, a key, a value. Written as a literal, with interpolation, or from bytes.
public struct RedisArgument: Sendable, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral {
    private enum Storage {
        case string(String)
        case bytes([UInt8])
        case integer(Int)
    }

    private let storage: Storage

    public init(_ value: String) { storage = .string(value) }
    public init(_ value: [UInt8]) { storage = .bytes(value) }
    public init(_ value: Int) { storage = .integer(value) }
    public init(stringLiteral value: String) { storage = .string(value) }
    public init(integerLiteral value: Int) { storage = .integer(value) }
}

extension RedisArgument {
    /// The word, if it is text.
    var text: String? {
        guard case .string(let text) = storage else { return nil }
        return text
    }

    /// Appends `arguments` as a command: a RESP array of bulk strings.
    static func write(_ arguments: [RedisArgument], to buffer: inout ByteBuffer) {
        buffer.writeHeader(UInt8(ascii: "*"), arguments.count)
        for argument in arguments {
            argument.write(to: &buffer)
        }
    }

    private func write(to buffer: inout ByteBuffer) {
        switch storage {
        case .string(let text):
            buffer.writeHeader(UInt8(ascii: "$"), text.utf8.count)
            buffer.writeString(text)
        case .bytes(let bytes):
            buffer.writeHeader(UInt8(ascii: "$"), bytes.count)
            buffer.writeBytes(bytes)
        case .integer(let value):
            let text = String(value)
            buffer.writeHeader(UInt8(ascii: "$"), text.utf8.count)
            buffer.writeString(text)
        }
        buffer.writeLineEnd()
    }
}

extension ByteBuffer {
    fileprivate mutating func writeHeader(_ type: UInt8, _ count: Int) {
        writeInteger(type)
        if count < 10 {
            writeInteger(UInt8(ascii: "0") + UInt8(count))
        } else {
            writeString(String(count))
        }
        writeLineEnd()
    }

    fileprivate mutating func writeLineEnd() {
        writeInteger(UInt16(0x0D0A))
    }
}

/// An answer of Redis (RESP2).
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

    /// The integer, also from decimal text.
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

    /// The text of a string; `nil` also if the bytes are not UTF-8.
    public var string: String? {
        bytes.flatMap { String(validating: $0, as: UTF8.self) }
    }

    public var array: [RedisValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }
}
