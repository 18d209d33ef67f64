import Foundation

/// Text in a mail's header (RFC 2047).
enum MailHeader {
    /// Bytes in one encoded word: with its frame, and `Subject: ` before it, a line of at most 76 characters
    /// (RFC 2047 §2).
    private static let longestPart = 39

    /// As it is where it is short and of ASCII's printable characters; else in encoded words.
    static func text(_ text: String) -> String {
        let isPlain = text.utf8.count <= 60 && text.utf8.allSatisfy { (0x20...0x7E) ~= $0 } && !text.contains("=?")
        return isPlain ? text : encoded(text)
    }

    /// The same for a name before an address, where punctuation has a meaning.
    static func phrase(_ text: String) -> String {
        let isPlain = text.unicodeScalars.allSatisfy { $0 == " " || ($0.isASCII && $0.properties.isAlphabetic) }
        return isPlain && text.utf8.count <= 60 ? text : encoded(text)
    }

    /// No character is divided between two words.
    private static func encoded(_ text: String) -> String {
        var parts: [String] = []
        var part = ""
        for scalar in text.unicodeScalars {
            if part.utf8.count + scalar.utf8.count > longestPart {
                parts.append(part)
                part = ""
            }
            part.unicodeScalars.append(scalar)
        }
        if !part.isEmpty { parts.append(part) }
        return parts.map { "=?utf-8?B?\(Data($0.utf8).base64EncodedString())?=" }.joined(separator: "\r\n ")
    }
}
