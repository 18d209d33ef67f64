import Foundation
import TestKit
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

@Suite struct MessageTemplatesTests {
    private static let values: [MessagePlaceholder: String] = [
        .app: "Shop", .code: "012345", .minutes: "10", .days: "3", .link: "https://shop.example.com/open#token",
    ]

    @Test func theListIsThatOfTheFiles() throws {
        let identity = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Services/identity").standardizedFileURL
        let files = try #require(FileManager.default.enumerator(at: identity, includingPropertiesForKeys: nil))
            .compactMap { $0 as? URL }
            .filter { $0.pathExtension == "txt" && $0.deletingLastPathComponent().lastPathComponent == "Templates" }
        let contents = try Dictionary(
            uniqueKeysWithValues: files.map { ($0.lastPathComponent, try Data(contentsOf: $0)) })
        let declared = IdentityApplication.messageKinds.flatMap { kind in
            kind.templates.map { ("\(kind.rawValue).\($0).txt", Data($1)) }
        }
        #expect(contents == Dictionary(uniqueKeysWithValues: declared))
    }

    @Test(arguments: IdentityApplication.messageKinds, ["en", "he", "ru", "ar"])
    func everyKindIsThereInEveryLanguage(kind: MessageKind, code: String) throws {
        let language = try #require(MessageLanguage(code))
        let (template, chosen) = MessageTemplates.builtIn.template(of: kind, in: language)
        #expect(chosen == language)
        let text = template.filled(with: Self.values)
        if let required = kind.required {
            let needed = try #require(Self.values[required])
            #expect(text.text.contains(needed) && text.short.contains(needed))
        }
        #expect(text.subject.contains("Shop") && !(text.subject + text.short + text.text).contains("{"))
        // Two segments of a text message in which letters need two bytes each.
        let short = text.short.replacing(Self.values[.link]!, with: "")
        #expect(short.utf16.count <= 134, "\(short)")
        let isOther = text.text.unicodeScalars.contains { $0.value > 0x0400 && $0.properties.isAlphabetic }
        #expect(isOther == (code != "en"))
    }

    @Test func aTeamsFilesComeFirst() throws {
        try withFolder([
            "signIn.en.txt": "Subject: Hello\nSMS: {code}\n\n{code}\n", "notes.md": "none of ours",
        ]) { folder in
            let templates = try MessageTemplates.builtIn.replaced(byFilesIn: folder)
            #expect(templates.languages.count == 4)
            #expect(templates.template(of: .signIn, in: .english).0.filled(with: Self.values).subject == "Hello")
            #expect(templates.template(of: .verify, in: .english).0.filled(with: Self.values).subject != "Hello")
        }
    }

    @Test(arguments: [
        ("signIn.en.txt", "Subject: {name}\nSMS: {code}\n\n{code}\n", "signIn.en.txt has {name}"),
        ("signin.en.txt", "Subject: a\nSMS: {code}\n\n{code}\n", "signin.en.txt is not named"),
        ("signIn.english.txt", "Subject: a\nSMS: {code}\n\n{code}\n", "signIn.english.txt is not named"),
        ("signIn.de.txt", "Subject: a\nSMS: {code}\n\n{code}\n", "lacks passwordReset.de.txt, verify.de.txt"),
    ])
    func whatIsWrongIsFoundAtTheStart(name: String, text: String, message: String) throws {
        try withFolder([name: text]) { folder in
            let refusal = #expect(throws: Refusal.self) { try MessageTemplates.builtIn.replaced(byFilesIn: folder) }
            #expect(refusal?.message.hasPrefix(message) == true, "\(refusal?.message ?? "")")
        }
    }

    /// A team's own language goes on without the kinds that came later.
    @Test func aLanguageMayLackWhatCameLater() throws {
        try withFolder([
            "signIn.de.txt": "Subject: a\nSMS: {code}\n\n{code}\n",
            "verify.de.txt": "Subject: a\nSMS: {code}\n\n{code}\n",
            "passwordReset.de.txt": "Subject: a\nSMS: {link}\n\n{link}\n",
        ]) { folder in
            let templates = try MessageTemplates.builtIn.replaced(byFilesIn: folder)
            let german = try #require(MessageLanguage("de"))
            #expect(templates.template(of: .verify, in: german).1 == german)
            #expect(templates.template(of: .stepUp, in: german).1 == .english)
        }
    }

    @Test func aLanguageThatIsGoneIsEnglish() {
        #expect(MessageTemplates.builtIn.template(of: .signIn, in: MessageLanguage("de")!).1 == .english)
    }

    private func withFolder(_ files: [String: String], _ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "templates-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files { try Data(text.utf8).write(to: folder.appending(path: name)) }
        try body(folder)
    }
}
