import Foundation
import GatehouseContracts
import Testing

@testable import GatehouseClient

/// The texts of screens and errors. Foundation reads a translation file that cannot be parsed as an empty one, so
/// these tests read each text of each language.
@Suite("The texts for users")
struct InterfaceTextTests {
    private static let translations = ["he", "ru", "ar"]
    private static let letters: [String: ClosedRange<UInt32>] = [
        "en": 0x41...0x7a, "he": 0x5d0...0x5ea, "ru": 0x410...0x44f, "ar": 0x621...0x64a,
    ]
    private static let kinds: [GatehouseError.Kind] = [
        .offline, .timedOut, .unavailable, .rateLimited, .cancelled, .signedOut, .sessionEnded, .locked,
        .invalidCredentials, .invalidAppleToken, .accountDisabled, .identifierTaken, .weakPassword, .invalidInput,
        .reauthenticationRequired, .forbidden, .notFound, .refused, .storage, .server, .unreadable, .misuse,
        .unlockUnavailable,
    ]
    private static let errors =
        kinds.map { GatehouseError($0) } + [GatehouseError(.invalidInput, code: "PAYLOAD_TOO_LARGE")]

    /// The keys and texts of a translation, as Foundation reads the file.
    private func table(_ language: String) throws -> [String: String] {
        let library = try #require(LocalizedText.library)
        let file = try #require(
            library.url(forResource: "Localizable", withExtension: "strings", subdirectory: nil, localization: language)
        )
        let list = try PropertyListSerialization.propertyList(from: Data(contentsOf: file), format: nil)
        return try #require(list as? [String: String])
    }

    @Test(arguments: translations) func everyTextIsTranslated(language: String) throws {
        let keys =
            InterfaceText.allCases.map(\.rawValue) + Self.kinds.map { "error.\($0)" }
            + ["error.PAYLOAD_TOO_LARGE", "error.retryAfter"]
        #expect(try Set(table(language).keys) == Set(keys))
    }

    @Test(arguments: InterfaceText.allCases) func eachLanguageHasItsOwnLetters(text: InterfaceText) {
        for (language, letters) in Self.letters {
            let sentence = text.text(in: language)
            #expect(sentence.unicodeScalars.contains { letters.contains($0.value) })
            // The same place for a number in every language, and none elsewhere.
            #expect(sentence.contains("%d") == (text == .passwordTooShort))
            #expect(!sentence.replacingOccurrences(of: "%d", with: "").contains("%"))
            #expect(!sentence.unicodeScalars.contains { $0.properties.isBidiControl })
        }
    }

    @Test(
        "The texts about the lock name the passcode only where it unlocks the app",
        arguments: [
            ("en", "passcode"), ("he", "קוד"), ("ru", "код"), ("ar", "رمز"),
        ])
    func lock(language: String, passcode: String) {
        for (policy, isNamed) in [(UnlockPolicy.biometrics, false), (.biometricsOrPasscode, true)] {
            for text in [policy.lockSetting, policy.lockMissing] {
                #expect(text.text(in: language).lowercased().contains(passcode) == isNamed)
            }
        }
    }

    @Test(arguments: letters.keys) func messagesOfErrorsDiffer(language: String) throws {
        let sentences = Self.errors.map { $0.message(in: language) }
        #expect(Set(sentences).count == sentences.count)
        for sentence in sentences {
            #expect(sentence.hasSuffix("."), "\(sentence)")
            #expect(!sentence.contains("!") && !sentence.contains("%") && !sentence.contains("  "), "\(sentence)")
            let technical = sentence.firstMatch(of: /HTTP|JSON|URL|token|error|[0-9]/.ignoresCase())
            #expect(technical == nil, "\(sentence)")
            #expect(sentence.count < 120)
            // As a text view finds a paragraph's direction (UAX #9, P2).
            let first = try #require(sentence.unicodeScalars.first { $0.properties.isAlphabetic })
            #expect((0x0590...0x08FF).contains(first.value) == InterfaceText.isRightToLeft(language), "\(sentence)")
        }
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

    @Test func numbersStandInTheText() {
        #expect(InterfaceText.passwordTooShort.text(in: "en", number: 8) == "The password has at least 8 characters.")
    }

    @Test func aCodeMayHaveItsOwnMessage() {
        let error = GatehouseError(.invalidInput, code: "PAYLOAD_TOO_LARGE")
        #expect(error.message(in: "en") == "This is too large to be sent.")
        let general = GatehouseError(.invalidInput, code: "INVALID_REQUEST")
        #expect(general.message(in: "en").hasPrefix("Some of the details"))
    }

    @Test func anAppReplacesTextsInItsOwnTable() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).bundle")
        defer { try? FileManager.default.removeItem(at: folder) }
        for (language, text) in [("en", "Log in"), ("ru", "Авторизация")] {
            let resources = folder.appendingPathComponent("\(language).lproj")
            try FileManager.default.createDirectory(at: resources, withIntermediateDirectories: true)
            try Data("\"login.title\" = \"\(text)\";".utf8)
                .write(to: resources.appendingPathComponent("Gatehouse.strings"))
        }
        let app = try #require(Bundle(url: folder))
        let title = LocalizedText(key: "login.title", english: "Sign in")
        #expect(title.text(in: "en", app: app) == "Log in")
        #expect(title.text(in: "ru-RU", app: app) == "Авторизация")
        #expect(title.text(in: "he", app: app) == InterfaceText.loginTitle.text(in: "he"))
        #expect(LocalizedText(key: "login.or", english: "or").text(in: "en", app: app) == "or")
    }

    @Test(arguments: [
        ("he", true), ("he-IL", true), ("iw", true), ("ar_EG", true), ("AR", true), ("en", false), ("ru-RU", false),
        ("", false),
    ])
    func direction(language: String, isRightToLeft: Bool) {
        #expect(InterfaceText.isRightToLeft(language) == isRightToLeft)
    }
}
