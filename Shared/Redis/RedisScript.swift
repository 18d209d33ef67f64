import Crypto

/// A Lua script that the server runs as one indivisible step.
public struct RedisScript: Sendable {
    /// The Lua source.
    public let source: String
    /// What the server's script cache knows it by: SHA-1 in hex.
    public let digest: String

    /// Make it once, as a `static let`: the digest is computed here.
    public init(_ source: String) {
        self.source = source
        let hex = Array("0123456789abcdef".utf8)
        self.digest = String(
            decoding: Insecure.SHA1.hash(data: Array(source.utf8)).flatMap { [hex[Int($0 >> 4)], hex[Int($0 & 15)]] },
            as: UTF8.self)
    }
}

extension RedisClient {
    /// Runs a script by its digest (`EVALSHA`), and with its source (`EVAL`) where the server does not have it:
    /// the first time, after a restart or a `SCRIPT FLUSH`.
    ///
    /// - Parameters:
    ///   - keys: the keys that the script touches (`KEYS`).
    ///   - timeout: for each of the two; `nil` takes the configuration's.
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
