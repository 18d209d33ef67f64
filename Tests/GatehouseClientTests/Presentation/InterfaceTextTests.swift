import Foundation
import Testing

@testable import GatehouseClient

@Suite("The texts of the screens")
struct InterfaceTextTests {
    private static let languages = ["en", "he", "ru", "ar"]

    @Test("Each is there in each language, in its own letters", arguments: InterfaceText.allCases)
    func complete(text: InterfaceText) throws {
        let entry = try #require(InterfaceText.catalogue.strings[text.rawValue])
        #expect(Set(entry.localizations.keys) == Set(Self.languages))
        let letters: [String: ClosedRange<UInt32>] = [
            "en": 0x41...0x7a, "he": 0x5d0...0x5ea, "ru": 0x410...0x44f, "ar": 0x621...0x64a,
        ]
        for language in Self.languages {
            let sentence = text.text(in: language)
            #expect(!sentence.isEmpty && sentence != text.rawValue)
            #expect(sentence.unicodeScalars.contains { letters[language]?.contains($0.value) == true })
            // The same place for a number in every language, and none elsewhere.
            #expect(sentence.contains("%d") == (text == .passwordTooShort))
            #expect(!sentence.replacingOccurrences(of: "%d", with: "").contains("%"))
        }
    }

    @Test("The catalogue holds nothing that no screen says")
    func nothingMore() {
        #expect(Set(InterfaceText.catalogue.strings.keys) == Set(InterfaceText.allCases.map(\.rawValue)))
    }

    @Test("A text that runs from right to left holds no mark that turns it", arguments: InterfaceText.allCases)
    func noMarks(text: InterfaceText) {
        for language in Self.languages {
            #expect(!text.text(in: language).unicodeScalars.contains { $0.properties.isBidiControl })
        }
    }

    @Test("By region, by an older name, in English where the language is another")
    func languages() {
        #expect(InterfaceText.tryAgain.text(in: "he-IL") == InterfaceText.tryAgain.text(in: "he"))
        #expect(InterfaceText.tryAgain.text(in: "iw") == InterfaceText.tryAgain.text(in: "he"))
        #expect(InterfaceText.tryAgain.text(in: "ar_EG") == InterfaceText.tryAgain.text(in: "ar"))
        #expect(InterfaceText.tryAgain.text(in: "fr-FR") == "Try Again")
        #expect(InterfaceText.passwordTooShort.text(in: "en", number: 8) == "The password has at least 8 characters.")
    }

    @Test(
        "Hebrew and Arabic run from right to left",
        arguments: [
            ("he", true), ("he-IL", true), ("iw", true), ("ar_EG", true), ("AR", true), ("en", false), ("ru-RU", false),
            ("", false),
        ])
    func direction(language: String, isRightToLeft: Bool) {
        #expect(InterfaceText.isRightToLeft(language) == isRightToLeft)
    }
}
