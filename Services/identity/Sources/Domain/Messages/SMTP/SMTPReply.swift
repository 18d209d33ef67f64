/// What an SMTP server answers to a command (RFC 5321 §4.2).
struct SMTPReply: Sendable, Equatable {
    var code: Int
    /// What stands behind the code, line by line.
    var lines: [String]

    /// Bytes of a line, and lines of a reply, that are read. RFC 5321 §4.5.3.1.5 asks for 512.
    static let longestLine = 2048
    static let mostLines = 128

    struct Malformed: Error {}

    /// A reply whose lines are still coming.
    struct Reader: Sendable {
        private var code: Int?
        private var lines: [String] = []

        /// - Parameter line: without its end.
        /// - Returns: the reply that ends with it.
        mutating func read(_ line: [UInt8]) throws(Malformed) -> SMTPReply? {
            guard line.count >= 3, line.count <= SMTPReply.longestLine, lines.count < SMTPReply.mostLines,
                let code = Int(String(decoding: line.prefix(3), as: UTF8.self)), (200...599).contains(code),
                self.code == nil || self.code == code
            else { throw Malformed() }
            let isLast = line.count == 3 || line[3] != UInt8(ascii: "-")
            lines.append(String(decoding: line.dropFirst(4), as: UTF8.self))
            guard isLast else {
                self.code = code
                return nil
            }
            defer { self = Reader() }
            return SMTPReply(code: code, lines: lines)
        }
    }

    /// For a log: without what a terminal would obey.
    var text: String {
        let words = ([String(code)] + lines).joined(separator: " ").unicodeScalars.map {
            $0.properties.generalCategory == .control ? " " : String($0)
        }
        return String(words.joined().prefix(200))
    }
}
