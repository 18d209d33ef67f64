import AccessToken
import Foundation
import Settings

/// The signing keys file: PEM blocks, each with its state in a comment line before it, which RFC 7468 §2 allows. In a
/// plain PEM file with one key, that key is active.
///
///     # active since 2026-11-20T12:00:00Z
///     -----BEGIN PRIVATE KEY-----
///     …
///     # retiring since 2026-11-20T12:00:00Z lifetime 3600
///     -----BEGIN PRIVATE KEY-----
extension SigningKeys {
    /// - Throws: `SigningKeysError`
    public init(text: String) throws(SigningKeysError) {
        var entries: [Entry] = []
        var mark = Self.unmarked
        var block: [Substring] = []
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("-----BEGIN") || !block.isEmpty {
                block.append(line)
                guard line.hasPrefix("-----END") else { continue }
                entries.append(try Self.entry(block, mark))
                block = []
                mark = Self.unmarked
            } else if let read = try Self.mark(line) {
                mark = read
            }
        }
        guard block.isEmpty else { throw SigningKeysError("a key ends in the middle") }
        try self.init(entries: entries, isForDevelopment: DevelopmentSecret.isMarked(file: text))
    }

    /// The file's text, with the private keys.
    public var text: String {
        entries.reduce(into: DevelopmentSecret.fileHead(isForDevelopment: isForDevelopment)) { text, entry in
            text += "# \(entry.label)\n" + entry.key.pem
        }
    }

    /// The public keys, for those who verify.
    ///
    /// - Throws: `AccessTokenError`
    func publicText() throws(AccessTokenError) -> String {
        var text = DevelopmentSecret.fileHead(isForDevelopment: isForDevelopment)
        for key in published { text += try key.pem }
        return text
    }

    private typealias Mark = (state: State, since: Date?, lifetime: Int?)
    private static let unmarked: Mark = (.active, nil, nil)

    private static func entry(_ block: [Substring], _ mark: Mark) throws(SigningKeysError) -> Entry {
        do {
            let key = try RSAPrivateKey(pem: block.joined(separator: "\n") + "\n")
            return Entry(key: key, state: mark.state, since: mark.since, lifetime: mark.lifetime)
        } catch {
            throw SigningKeysError("\(error)")
        }
    }

    /// Reads the state of the key that follows from a comment; `nil` for any other comment.
    private static func mark(_ line: Substring) throws(SigningKeysError) -> Mark? {
        let words = line.split(separator: " ")
        guard [2, 4, 6].contains(words.count), words[0] == "#", let state = State(rawValue: String(words[1])) else {
            return nil
        }
        guard words.count > 2, words[2] == "since" else { return (state, nil, nil) }
        guard let since = try? Date(String(words[3]), strategy: .iso8601) else {
            throw SigningKeysError("'\(words[3])' is no time as in 2026-11-20T12:00:00Z")
        }
        guard words.count == 6, words[4] == "lifetime" else { return (state, since, nil) }
        guard let lifetime = Int(words[5]), lifetime >= 0 else {
            throw SigningKeysError("'\(words[5])' is no number of seconds")
        }
        return (state, since, lifetime)
    }
}

extension SigningKeys.Entry {
    /// The state, since when, and how long its tokens live: `retiring since 2026-11-20T12:00:00Z lifetime 3600`.
    public var label: String {
        state.rawValue + (since.map { " since " + $0.formatted(.iso8601) } ?? "")
            + (lifetime.map { " lifetime \($0)" } ?? "")
    }
}
