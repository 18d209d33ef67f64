import AccessToken
import Foundation
import ServiceKit

/// Keys as they stand in a file: PEM blocks, each with its state in a line before it, as RFC 7468 §2 allows. A plain
/// PEM file with one key is a set in which that key is active.
///
///     # active since 2026-11-20T12:00:00Z
///     -----BEGIN PRIVATE KEY-----
extension SigningKeys {
    /// - Throws: `SigningKeysError`
    public init(text: String) throws(SigningKeysError) {
        var entries: [Entry] = []
        var state = (State.active, Date?.none)
        var block: [Substring] = []
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("-----BEGIN") || !block.isEmpty {
                block.append(line)
                guard line.hasPrefix("-----END") else { continue }
                entries.append(Entry(key: try Self.key(block), state: state.0, since: state.1))
                block = []
                state = (.active, nil)
            } else if let read = try Self.state(line) {
                state = read
            }
        }
        guard block.isEmpty else { throw SigningKeysError("a key ends in the middle") }
        try self.init(entries: entries, isForDevelopment: DevelopmentSecret.isMarked(file: text))
    }

    /// Holds the private keys.
    public var text: String {
        entries.reduce(into: DevelopmentSecret.fileHead(isForDevelopment: isForDevelopment)) { text, entry in
            text += "# \(entry.label)\n" + entry.key.pem
        }
    }

    /// Holds the public halves, for who verifies.
    ///
    /// - Throws: `AccessTokenError`
    func publicText() throws(AccessTokenError) -> String {
        var text = DevelopmentSecret.fileHead(isForDevelopment: isForDevelopment)
        for key in published { text += try key.pem }
        return text
    }

    private static func key(_ block: [Substring]) throws(SigningKeysError) -> RSAPrivateKey {
        do {
            return try RSAPrivateKey(pem: block.joined(separator: "\n") + "\n")
        } catch {
            throw SigningKeysError("\(error)")
        }
    }

    /// The state that a comment tells; `nil` for any other comment.
    private static func state(_ line: Substring) throws(SigningKeysError) -> (State, Date?)? {
        let words = line.split(separator: " ")
        guard words.count == 2 || words.count == 4, words[0] == "#", let state = State(rawValue: String(words[1]))
        else {
            return nil
        }
        guard words.count == 4, words[2] == "since" else { return (state, nil) }
        guard let since = try? Date(String(words[3]), strategy: .iso8601) else {
            throw SigningKeysError("'\(words[3])' is no time as in 2026-11-20T12:00:00Z")
        }
        return (state, since)
    }
}

extension SigningKeys.Entry {
    /// The state and since when: `active since 2026-11-20T12:00:00Z`.
    public var label: String {
        state.rawValue + (since.map { " since " + $0.formatted(.iso8601) } ?? "")
    }
}
