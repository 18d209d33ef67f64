/// Which metadata is never written. Our own code has no such keys (``LogField``); this guards what libraries log.
enum Redaction {
    static let mark = "[redacted]"

    /// Byte by byte: it is asked for every key of every line, and Foundation's search costs more than the line.
    static func covers(_ key: String) -> Bool {
        let key = key.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        return words.contains { word in
            key.indices.contains { key[$0...].starts(with: word) }
        }
    }

    private static let words = [
        "authorization", "cookie", "credential", "password", "secret", "token", "private_key", "nonce",
    ].map { Array($0.utf8) }
}
