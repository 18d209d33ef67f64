/// In which language somebody is written to.
struct MessageLanguage: Hashable, Sendable, CustomStringConvertible {
    /// ISO 639, in lower case.
    let code: String

    /// - Returns: `nil` where it is no code of two or three letters.
    init?(_ code: String) {
        guard (2...3).contains(code.utf8.count), code.utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")) ~= $0 })
        else { return nil }
        // The code that Hebrew had before 1989, which some systems still send.
        self.code = code == "iw" ? "he" : code
    }

    static let english = MessageLanguage("en")!

    var description: String { code }

    /// Whether it is written from right to left.
    var isRightToLeft: Bool { ["ar", "fa", "he", "ur", "yi"].contains(code) }

    /// The language that a client wants most, of those there are.
    /// - Parameter field: the client's `Accept-Language` (RFC 9110 §12.5.4). Where it cannot be read, English.
    static func choose(_ field: String?, of available: Set<MessageLanguage>) -> MessageLanguage {
        guard let field, field.utf8.count <= 256 else { return .english }
        var best: (language: MessageLanguage, weight: Double)?
        for range in field.split(separator: ",").prefix(16) {
            let parts = range.split(separator: ";").map { Text.trimmed($0) }
            let primary = parts.first?.split(separator: "-").first?.lowercased() ?? ""
            guard let language = MessageLanguage(primary), available.contains(language) else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            if weight > 0, weight > best?.weight ?? 0 { best = (language, weight) }
        }
        return best?.language ?? .english
    }
}
