// Pure: no I/O, no clock.

import Foundation
import GatehouseBytes

/// A mail in its transfer format (RFC 5322, 2045, 2046): plain text, and the same as HTML for right-to-left text and
/// for links. Both parts are base64, so that no line is too long and none begins with a dot.
struct MailContent: Sendable {
    let bytes: [UInt8]

    /// - Parameters:
    ///   - id: identifies the mail. A server or mail client that gets it twice may recognize it by the id.
    ///   - date: seconds since 1970.
    init(_ message: OutgoingMessage, from author: MailAuthor, date: Int64) {
        let name = message.id.uuidString.lowercased()
        let boundary = "=_\(name)"
        let from = author.name.isEmpty ? author.address.value : "\(MailHeader.phrase(author.name)) <\(author.address)>"
        var lines = [
            "From: \(from)",
            "To: <\(message.to.value)>",
            "Subject: \(MailHeader.text(message.text.subject))",
            "Date: \(Self.written(date))",
            "Message-ID: <\(name)@\(author.domain)>",
            "MIME-Version: 1.0",
            "Content-Language: \(message.language)",
            // RFC 3834: asks for no automatic replies.
            "Auto-Submitted: auto-generated",
            "Content-Type: multipart/alternative;",
            " boundary=\"\(boundary)\"",
            "",
        ]
        lines += Self.part("plain", message.text.text, boundary)
        lines += Self.part("html", MailPage(message).html, boundary)
        lines += ["--\(boundary)--", ""]
        bytes = Array(lines.joined(separator: "\r\n").utf8)
    }

    /// The form that is sent after `DATA`: a dot is added before each line that begins with one, and a line with one
    /// dot ends the mail (RFC 5321 §4.5.2).
    static func stuffed(_ bytes: [UInt8]) -> [UInt8] {
        let (dot, newline) = (UInt8(ascii: "."), UInt8(ascii: "\n"))
        var stuffed: [UInt8] = []
        stuffed.reserveCapacity(bytes.count + 64)
        var last = newline
        for byte in bytes {
            if last == newline, byte == dot { stuffed.append(dot) }
            stuffed.append(byte)
            last = byte
        }
        if !stuffed.suffix(2).elementsEqual("\r\n".utf8) { stuffed += Array("\r\n".utf8) }
        return stuffed + Array(".\r\n".utf8)
    }

    private static func part(_ subtype: String, _ text: String, _ boundary: String) -> [String] {
        let body = text.replacing("\n", with: "\r\n")
        return [
            "--\(boundary)", "Content-Type: text/\(subtype); charset=utf-8", "Content-Transfer-Encoding: base64", "",
        ] + wrapped(Array(Data(body.utf8).base64EncodedString().utf8))
    }

    /// Lines of 76 characters (RFC 2045 §6.8).
    private static func wrapped(_ base64: [UInt8]) -> [String] {
        stride(from: 0, to: base64.count, by: 76).map { start in
            String(decoding: base64[start..<min(start + 76, base64.count)], as: UTF8.self)
        }
    }

    /// RFC 5322 §3.3: the same as in HTTP, but with a numeric zone.
    private static func written(_ date: Int64) -> String {
        UTCTime(secondsSince1970: date).imfFixdate.replacing("GMT", with: "+0000")
    }
}

/// The sender of mails: `no-reply@example.com`, or with a name, `Shop <no-reply@example.com>`.
struct MailAuthor: Sendable, Equatable {
    var name: String
    var address: EmailAddress

    init(_ text: String) throws(Refusal) {
        guard let bracket = text.firstIndex(of: "<") else {
            name = ""
            address = try EmailAddress(text)
            return
        }
        let rest = Text.trimmed(text[text.index(after: bracket)...])
        guard rest.hasSuffix(">") else { throw Refusal("has no > at its end") }
        name = Text.trimmed(text[..<bracket])
        address = try EmailAddress(String(rest.dropLast()))
        guard name.utf8.count <= 200, !name.unicodeScalars.contains(where: Text.isDeceptive) else {
            throw Refusal("has a name that is too long or cannot be shown")
        }
    }

    /// The part after the `@`.
    var domain: String { String(address.value.split(separator: "@").last ?? "") }
}

/// Text in a mail's header (RFC 2047).
enum MailHeader {
    /// Bytes in one encoded word. With its delimiters, and `Subject: ` before it, the line has at most 76 characters
    /// (RFC 2047 §2).
    private static let longestPart = 39

    /// Short text of printable ASCII characters is unchanged. Other text becomes encoded words.
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

/// A message's text as HTML: paragraphs, the code in large digits, and the link. Displaying it fetches nothing.
struct MailPage: Sendable {
    let html: String

    init(_ message: OutgoingMessage) {
        let (code, link) = (message.values[.code], message.values[.link])
        let paragraphs = message.text.paragraphs.map { paragraph in
            if let code, paragraph == code {
                return "<p style=\"font-size:28px;letter-spacing:4px\"><bdi dir=\"ltr\">\(Self.escaped(code))</bdi></p>"
            }
            var text = Self.escaped(paragraph).replacing("\n", with: "<br>\n")
            if let link, link.hasPrefix("https://") || link.hasPrefix("http://") {
                let address = Self.escaped(link)
                text.replace(address, with: "<a dir=\"ltr\" href=\"\(address)\">\(address)</a>")
            }
            return "<p>\(text)</p>"
        }
        let direction = message.language.isRightToLeft ? "rtl" : "ltr"
        html = """
            <!DOCTYPE html>
            <html lang="\(message.language)" dir="\(direction)">
            <head><meta charset="utf-8"><title>\(Self.escaped(message.text.subject))</title></head>
            <body style="font:16px/1.5 sans-serif">
            \(paragraphs.joined(separator: "\n"))
            </body>
            </html>

            """
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}
