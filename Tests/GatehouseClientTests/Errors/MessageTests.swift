import Foundation
import Testing

@testable import GatehouseClient

struct MessageTests {
    private static let languages = ["en", "he", "ru", "ar"]
    private let catalogue = MessageCatalogue.shared

    /// All that are declared, by the source itself: a kind without a sentence fails here.
    private static func declaredKinds() throws -> Set<String> {
        let here = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        let root = (0..<4).reduce(here) { url, _ in url.deletingLastPathComponent() }
        let file = root.appendingPathComponent("Client/GatehouseClient/Errors/GatehouseError.swift")
        let source = try String(contentsOf: file, encoding: .utf8)
        return Set(source.matches(of: /static let (\w+) = Self\("(\w+)"\)/).map { String($0.output.2) })
    }

    @Test func everyKindHasASentenceInEveryLanguage() throws {
        let kinds = try Self.declaredKinds()
        #expect(kinds.count >= 20)
        #expect(kinds.contains(GatehouseError.Kind.cancelled.description))
        for kind in kinds {
            let entry = try #require(catalogue.strings[kind], "\(kind)")
            #expect(Set(entry.localizations.keys) == Set(Self.languages), "\(kind)")
        }
    }

    @Test func everySentenceIsAKindsOrACodes() throws {
        let codes = Set(ErrorCode.allCases.map(\.rawValue))
        #expect(Set(catalogue.strings.keys).isSubset(of: try Self.declaredKinds().union(codes)))
    }

    @Test func sentencesAreCalmAndEachItsOwn() {
        for language in Self.languages {
            let sentences = catalogue.strings.values.compactMap { $0.localizations[language]?.stringUnit.value }
            #expect(Set(sentences).count == sentences.count)
            for sentence in sentences {
                #expect(sentence.hasSuffix("."), "\(sentence)")
                #expect(!sentence.contains("!") && !sentence.contains("%") && !sentence.contains("  "), "\(sentence)")
                let technical = sentence.firstMatch(of: /HTTP|JSON|URL|token|error|[0-9]/.ignoresCase())
                #expect(technical == nil, "\(sentence)")
                #expect(sentence.count < 120)
            }
        }
    }

    @Test func hebrewAndArabicReadFromTheRight() throws {
        for (key, entry) in catalogue.strings {
            for (language, isRightToLeft) in [("en", false), ("ru", false), ("he", true), ("ar", true)] {
                let sentence = try #require(entry.localizations[language]?.stringUnit.value)
                #expect(Self.firstStrongIsRightToLeft(sentence) == isRightToLeft, "\(key) \(language)")
            }
        }
    }

    /// As a text view finds a paragraph's direction (UAX #9, P2).
    private static func firstStrongIsRightToLeft(_ text: String) -> Bool? {
        text.unicodeScalars.first { $0.properties.isAlphabetic }.map { (0x0590...0x08FF).contains($0.value) }
    }

    @Test(arguments: [
        ("en", "Please sign in to continue."), ("en-GB", "Please sign in to continue."),
        ("ru_RU", "Чтобы продолжить, войдите в аккаунт."), ("he-IL", "כדי להמשיך, יש להיכנס לחשבון."),
        ("iw", "כדי להמשיך, יש להיכנס לחשבון."), ("AR", "يُرجى تسجيل الدخول للمتابعة."),
        ("ar-Arab-EG", "يُرجى تسجيل الدخول للمتابعة."), ("fr", "Please sign in to continue."),
        ("", "Please sign in to continue."), ("arc", "Please sign in to continue."),
    ])
    func languages(language: String, sentence: String) {
        #expect(GatehouseError(.signedOut).message(in: language) == sentence)
    }

    @Test func theFirstOfTheUsersLanguagesThatThereIs() {
        #expect(catalogue.message(for: "cancelled", in: ["fr-FR", "ru-RU", "he-IL"]) == "Действие отменено.")
        #expect(catalogue.message(for: "cancelled", in: []) == "This was cancelled.")
        #expect(catalogue.message(for: "nothing", in: ["en"]) == nil)
    }

    @Test func byDefaultInTheLanguageOfTheApp() {
        #expect(GatehouseError(.server).message() == GatehouseError(.server).message(in: AppLanguage.current))
    }

    @Test func aCodeMayHaveASentenceOfItsOwn() {
        let error = GatehouseError(.invalidInput, code: "PAYLOAD_TOO_LARGE")
        #expect(error.message(in: "en") == "This is too large to be sent.")
        let general = GatehouseError(.invalidInput, code: "INVALID_REQUEST")
        #expect(general.message(in: "en").hasPrefix("Some of the details"))
    }

    @Test func aKindOfTomorrowHasTheGeneralSentence() {
        #expect(GatehouseError(.init("tomorrow")).message(in: "en") == GatehouseError(.server).message(in: "en"))
    }

    @Test func aLanguageThatLacksASentenceHasItInEnglish() throws {
        let json = """
            {"sourceLanguage":"en","strings":{"a":{"localizations":{"en":{"stringUnit":{"value":"A"}}}}}}
            """
        let catalogue = try JSONDecoder().decode(MessageCatalogue.self, from: Data(json.utf8))
        #expect(catalogue.message(for: "a", in: ["he"]) == "A")
    }
}
