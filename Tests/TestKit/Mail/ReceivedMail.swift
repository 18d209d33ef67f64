import Foundation

/// A mail as a server received it, parsed independently of the services' code.
public struct ReceivedMail: Sendable {
    /// By name in lower case. Folded lines are joined and encoded words decoded.
    public let headers: [String: String]
    /// The text of each part by media type.
    public let parts: [String: String]
    /// The unparsed mail.
    public let raw: String

    init(_ raw: String) {
        self.raw = raw
        let (head, body) = Self.divided(raw)
        headers = Self.headers(of: head).mapValues(Self.decoded)
        let boundary = headers["content-type"]?.firstMatch(of: /boundary="([^"]+)"/).map { String($0.1) } ?? ""
        var parts: [String: String] = [:]
        for part in body.components(separatedBy: "--\(boundary)").dropFirst().dropLast() {
            let (head, text) = Self.divided(String(part.drop { $0.isNewline }))
            let type = Self.headers(of: head)["content-type"]?.split(separator: ";").first.map(String.init) ?? ""
            let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) ?? Data()
            parts[type] = String(decoding: data, as: UTF8.self)
        }
        self.parts = parts
    }

    /// The plain text with line feeds as line endings.
    public var text: String { (parts["text/plain"] ?? "").replacing("\r\n", with: "\n") }

    private static func divided(_ text: String) -> (String, String) {
        let halves = text.components(separatedBy: "\r\n\r\n")
        return (halves[0], halves.dropFirst().joined(separator: "\r\n\r\n"))
    }

    private static func headers(of head: String) -> [String: String] {
        var headers: [String: String] = [:]
        for line in head.replacing("\r\n ", with: " ").components(separatedBy: "\r\n") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] =
                line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        return headers
    }

    /// RFC 2047 §6.2: spaces between encoded words are dropped.
    private static func decoded(_ text: String) -> String {
        text.replacing("?= =?", with: "?==?").replacing(/=\?utf-8\?B\?([A-Za-z0-9+\/=]*)\?=/) { match in
            String(decoding: Data(base64Encoded: String(match.1)) ?? Data(), as: UTF8.self)
        }
    }
}
