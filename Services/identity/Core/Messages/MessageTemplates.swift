import Foundation

/// The templates of all kinds of messages, in every available language.
package struct MessageTemplates: Sendable {
    let kinds: [MessageKind]
    private var templates: [MessageLanguage: [MessageKind: MessageTemplate]] = [:]

    var languages: Set<MessageLanguage> { Set(templates.keys) }

    /// Gatehouse's own templates.
    package init(of kinds: [MessageKind]) {
        self.kinds = kinds
        for kind in kinds {
            for (language, bytes) in kind.templates {
                let name = "\(kind.rawValue).\(language).txt"
                do {
                    try add(file: name, text: String(decoding: bytes, as: UTF8.self))
                } catch {
                    // Never reached: a test reads every template.
                    preconditionFailure("\(name) \(error)")
                }
            }
        }
    }

    /// Replaces Gatehouse's templates with a team's own files, and adds those for other languages.
    /// - Parameter folder: contains files `KIND.LANGUAGE.txt`; other files are ignored.
    func replaced(byFilesIn folder: URL) throws -> MessageTemplates {
        var templates = self
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path()).filter { $0.hasSuffix(".txt") }
        for name in names.sorted() {
            let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            do { try templates.add(file: name, text: text) } catch { throw Refusal("\(name) \(error)") }
        }
        for (language, kinds) in templates.templates {
            let missing = self.kinds.filter { kinds[$0] == nil && !$0.isOptional }
                .map { "\($0.rawValue).\(language).txt" }
            guard missing.isEmpty else { throw Refusal("lacks \(missing.joined(separator: ", "))") }
        }
        return templates
    }

    /// - Parameter language: where it has no template of the kind, the English one is used.
    func template(of kind: MessageKind, in language: MessageLanguage) -> (MessageTemplate, MessageLanguage) {
        if let template = templates[language]?[kind] { return (template, language) }
        guard let template = templates[.english]?[kind] else { preconditionFailure("English templates are built in") }
        return (template, .english)
    }

    private mutating func add(file name: String, text: String) throws(Refusal) {
        let parts = name.split(separator: ".")
        guard parts.count == 3, let kind = kinds.first(where: { $0.rawValue == parts[0] }),
            let language = MessageLanguage(String(parts[1]))
        else {
            let names = kinds.map(\.rawValue).joined(separator: ", ")
            throw Refusal("is not named KIND.LANGUAGE.txt, with one of the kinds \(names)")
        }
        templates[language, default: [:]][kind] = try MessageTemplate(text, kind: kind)
    }
}

/// The text of one kind of message in one language, with placeholders.
///
/// A file consists of a line `Subject: …`, a line `SMS: …` with the text for a phone, an empty line, and the text of a
/// mail. Placeholders stand in braces. A paragraph whose placeholder has no value is left out.
struct MessageTemplate: Sendable, Equatable {
    private let subject: Phrase
    private let short: Phrase
    private let paragraphs: [Phrase]

    /// Bytes of a file.
    static let longest = 16_384

    init(_ file: String, kind: MessageKind) throws(Refusal) {
        guard file.utf8.count <= Self.longest else { throw Refusal("is longer than \(Self.longest) bytes") }
        let lines = file.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map { Text.trimmed($0) }
        subject = try Self.phrase(in: lines, at: 0, named: "Subject", kind)
        short = try Self.phrase(in: lines, at: 1, named: "SMS", kind)
        guard lines.count > 3, lines[2].isEmpty else {
            throw Refusal("needs an empty line after the first two, and a text")
        }
        var paragraphs: [Phrase] = []
        for paragraph in lines[3...].split(separator: "") {
            paragraphs.append(try Phrase(paragraph.joined(separator: "\n"), kind))
        }
        self.paragraphs = paragraphs
        guard let required = kind.required else { return }
        guard paragraphs.contains(where: { $0.placeholders.contains(required) }),
            short.placeholders.contains(required)
        else { throw Refusal("needs {\(required.rawValue)} in the SMS and in the text") }
        if required != .link, !(subject.placeholders + short.placeholders).allSatisfy({ $0 != .link }) {
            throw Refusal("has {link} where it cannot be left out")
        }
    }

    /// - Parameter values: a value for each placeholder that the kind requires.
    func filled(with values: [MessagePlaceholder: String]) -> MessageText {
        MessageText(
            subject: subject.filled(with: values) ?? "", short: short.filled(with: values) ?? "",
            paragraphs: paragraphs.compactMap { $0.filled(with: values) })
    }

    private static func phrase(
        in lines: [String], at number: Int, named name: String, _ kind: MessageKind
    ) throws(Refusal) -> Phrase {
        guard number < lines.count, lines[number].hasPrefix(name + ":") else {
            throw Refusal("needs \(name): … in line \(number + 1)")
        }
        let text = Text.trimmed(lines[number].dropFirst(name.count + 1))
        guard !text.isEmpty, !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw Refusal("needs a text after \(name):")
        }
        return try Phrase(text, kind)
    }

    /// Text with placeholders.
    private struct Phrase: Sendable, Equatable {
        enum Piece: Sendable, Equatable {
            case text(String)
            case placeholder(MessagePlaceholder)
        }

        var pieces: [Piece] = []

        var placeholders: [MessagePlaceholder] {
            pieces.compactMap { if case .placeholder(let placeholder) = $0 { placeholder } else { nil } }
        }

        init(_ text: String, _ kind: MessageKind) throws(Refusal) {
            var rest = text[...]
            while let brace = rest.firstIndex(of: "{") {
                pieces.append(.text(String(rest[..<brace])))
                guard let end = rest[brace...].firstIndex(of: "}") else {
                    throw Refusal("has a brace that is not closed")
                }
                let name = rest[rest.index(after: brace)..<end]
                guard let placeholder = MessagePlaceholder(rawValue: String(name)), kind.allowed.contains(placeholder)
                else { throw Refusal("has {\(name)}, which is not a placeholder of this kind") }
                pieces.append(.placeholder(placeholder))
                rest = rest[rest.index(after: end)...]
            }
            pieces.append(.text(String(rest)))
        }

        /// - Returns: `nil` where a value is missing.
        func filled(with values: [MessagePlaceholder: String]) -> String? {
            var text = ""
            for piece in pieces {
                switch piece {
                case .text(let part): text += part
                case .placeholder(let placeholder):
                    guard let value = values[placeholder] else { return nil }
                    text += value
                }
            }
            return text
        }
    }
}
