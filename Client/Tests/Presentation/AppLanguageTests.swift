import Foundation
import Testing

@testable import GatehouseClient

@Suite("The language of an app")
struct AppLanguageTests {
    private func language(
        of screen: String, system: String = "en_IL", localizations: [String] = ["en"]
    ) -> String {
        AppLanguage.of(
            screen: Locale(identifier: screen), system: Locale(identifier: system), localizations: localizations)
    }

    @Test("Is the app's, not the device's")
    func apps() {
        // An app that is in English alone, on a device in Hebrew; with CFBundleAllowMixedLocalizations in the second
        // row.
        #expect(language(of: "en_IL") == "en")
        #expect(language(of: "he_IL", system: "he_IL", localizations: ["en"]) == "en")
        #expect(language(of: "he_IL", system: "he_IL", localizations: ["he", "en"]) == "he")
        #expect(language(of: "iw_IL", system: "iw_IL", localizations: ["iw-IL"]) == "he")
    }

    @Test("Is the screen's where the app has set one")
    func screens() {
        #expect(language(of: "ru") == "ru")
        #expect(language(of: "he-IL") == "he")
        #expect(language(of: "fr") == "en")
    }

    @Test("Is English where there are no texts")
    func others() {
        #expect(language(of: "fr_FR", system: "fr_FR", localizations: ["fr"]) == "en")
        #expect(language(of: "fr_FR", system: "fr_FR", localizations: ["fr", "ar-EG"]) == "ar")
        #expect(language(of: "en", system: "en", localizations: []) == "en")
    }

    @Test("Is one with texts")
    func known() { #expect(AppLanguage.known.contains(AppLanguage.current)) }
}
