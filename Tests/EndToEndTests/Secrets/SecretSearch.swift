import Foundation
import GatehouseBytes

/// Looks for secrets in every spelling in which something may have written them down.
struct SecretSearch {
    private struct Needle {
        var bytes: [UInt8]
        var name: String
    }

    /// By their first eight bytes, so that a text is gone through once, however many secrets are looked for.
    private var needles: [UInt64: [Needle]] = [:]
    private(set) var secretCount = 0

    mutating func add(_ name: String, _ secret: some Sequence<UInt8>) {
        let secret = Array(secret)
        precondition(secret.count >= 8, "\(name) is too short to be found by")
        secretCount += 1
        // As Swift describes an array of bytes.
        let decimal = Array(secret.map { String($0) }.joined(separator: ", ").utf8)
        let spellings = [
            ("plain", [secret]), ("hex", Self.hex(secret)), ("base64", Self.base64(secret)), ("decimal", [decimal]),
        ]
        for (spelling, texts) in spellings {
            for text in texts where text.count >= 8 {
                let start = text.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
                needles[start, default: []].append(Needle(bytes: text, name: "\(name), \(spelling)"))
            }
        }
    }

    mutating func add(refreshToken token: String) {
        add("a refresh token", token.utf8)
        add("a refresh token's bytes", Base64URL.decode(token.dropFirst("ghrt_".count)) ?? [])
    }

    mutating func add(resetToken token: String) {
        add("a password reset's token", token.utf8)
        add("a password reset's token's bytes", Base64URL.decode(token.dropFirst("ghpr_".count)) ?? [])
    }

    mutating func add(accessToken token: String) {
        let signature = token.split(separator: ".")[2]
        add("an access token", token.utf8)
        add("an access token's signature", signature.utf8)
        add("an access token's signature's bytes", Base64URL.decode(signature) ?? [])
    }

    /// Every line of a file of keys: `ID:base64` or PEM.
    mutating func add(keyFile path: String) throws {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") && !$0.hasPrefix("-----") }
        let name = URL(filePath: path).lastPathComponent
        for line in lines {
            let value = line.split(separator: ":").last ?? line
            if value.utf8.count >= 16 { add(name, value.utf8) }
            if let bytes = Data(base64Encoded: String(value)), bytes.count >= 16 { add(name, bytes) }
        }
        precondition(!lines.isEmpty, "\(name) holds no key")
    }

    /// The names of the secrets that stand in `bytes`.
    func findings(in bytes: [UInt8]) -> Set<String> {
        // JSON may escape a slash of base64, and doubles what bytea has in front.
        let unescaped = bytes.filter { $0 != UInt8(ascii: "\\") }
        return search(bytes).union(unescaped.count < bytes.count ? search(unescaped) : [])
    }

    private func search(_ bytes: [UInt8]) -> Set<String> {
        var found: Set<String> = []
        var start: UInt64 = 0
        for index in bytes.indices {
            start = start << 8 | UInt64(bytes[index])
            guard index >= 7, let candidates = needles[start] else { continue }
            for needle in candidates where bytes[(index - 7)...].starts(with: needle.bytes) {
                found.insert(needle.name)
            }
        }
        return found
    }

    // MARK: - Spellings

    private static func hex(_ bytes: [UInt8]) -> [[UInt8]] {
        let text = bytes.map { String(format: "%02x", $0) }.joined()
        return [Array(text.utf8), Array(text.uppercased().utf8)]
    }

    /// Both alphabets, also for a secret that was encoded together with something before and behind it.
    private static func base64(_ bytes: [UInt8]) -> [[UInt8]] {
        (0..<3).flatMap { offset in
            let text = Data([UInt8](repeating: 0, count: offset) + bytes).base64EncodedString()
            let isWhole = (offset + bytes.count).isMultiple(of: 3)
            // Characters that depend on the neighbours as well.
            let own = text.filter { $0 != "=" }.dropFirst([0, 2, 3][offset]).dropLast(isWhole ? 0 : 1)
            return [Array(own.utf8), Array(own.replacing("+", with: "-").replacing("/", with: "_").utf8)]
        }
    }
}
