import Testing

@testable import IdentityService

@Suite struct MessageLanguageTests {
    private static let available = Set(["en", "he", "ru", "ar"].map { MessageLanguage($0)! })

    @Test(arguments: [
        (nil, "en"), ("", "en"), ("he", "he"), ("iw-IL", "he"), ("HE-il", "he"), ("de", "en"), ("de, ru;q=0.3", "ru"),
        ("en;q=0.2, ar;q=0.9", "ar"), ("ru;q=0, he;q=0.1", "he"), ("ru;q=x", "en"), ("*", "en"), ("ru, he", "ru"),
        ("ru\u{0}", "en"), (String(repeating: "he,", count: 100), "en"),
        (String(repeating: "x,", count: 16) + "he", "en"),
    ])
    func choosesWhatTheClientWantsMost(field: String?, language: String) {
        #expect(MessageLanguage.choose(field, of: Self.available).code == language)
    }

    @Test func knowsWhichAreWrittenFromTheRight() {
        #expect(["he", "iw", "ar", "fa"].allSatisfy { MessageLanguage($0)?.isRightToLeft == true })
        #expect(["en", "ru"].allSatisfy { MessageLanguage($0)?.isRightToLeft == false })
        #expect(["", "e", "EN", "engl", "e1"].allSatisfy { MessageLanguage($0) == nil })
    }
}
