import Bytes
import Foundation

/// A mail as it travels (RFC 5322, 2045, 2046): plain text, and the same as HTML for readers from right to left and for
/// links. Both parts are base64, so that no line is too long and none begins with a dot.
struct MailContent: Sendable {
    let bytes: [UInt8]

    /// - Parameters:
    ///   - id: names the mail. A server or reader that gets it twice may know it by that.
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
            // RFC 3834: nobody's out-of-office reply is wanted.
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

    /// As it is said after `DATA`: a dot before each line that begins with one, and one alone at the end (RFC 5321 §4.5.2).
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

    /// RFC 5322 §3.3: as in HTTP, with the zone as a number.
    private static func written(_ date: Int64) -> String {
        UTCTime(secondsSince1970: date).imfFixdate.replacing("GMT", with: "+0000")
    }
}
