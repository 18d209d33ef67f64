import Testing

@testable import IdentityCore
@testable import IdentityCredentials

@Suite struct MessageRulesTests {
    // MARK: - Languages

    private static let available = Set(["en", "he", "ru", "ar"].map { MessageLanguage($0)! })

    @Test(arguments: [
        (nil, "en"), ("", "en"), ("he", "he"), ("iw-IL", "he"), ("HE-il", "he"), ("de", "en"), ("de, ru;q=0.3", "ru"),
        ("en;q=0.2, ar;q=0.9", "ar"), ("ru;q=0, he;q=0.1", "he"), ("ru;q=x", "en"), ("*", "en"), ("ru, he", "ru"),
        ("ru\u{0}", "en"), (String(repeating: "he,", count: 100), "en"),
        (String(repeating: "x,", count: 16) + "he", "en"),
    ])
    func theLanguageIsTheOneThatTheClientPrefers(field: String?, language: String) {
        #expect(MessageLanguage.choose(field, of: Self.available).code == language)
    }

    @Test func hebrewArabicAndPersianRunFromTheRight() {
        #expect(["he", "iw", "ar", "fa"].allSatisfy { MessageLanguage($0)?.isRightToLeft == true })
        #expect(["en", "ru"].allSatisfy { MessageLanguage($0)?.isRightToLeft == false })
        #expect(["", "e", "EN", "engl", "e1"].allSatisfy { MessageLanguage($0) == nil })
    }

    // MARK: - Templates

    private static let whole =
        "Subject: {app}\nSMS: {code} {app}\n\nHello\nyou\n\n{code}\n\n\nor {link}\n\n{minutes} min\n"
    private static let values: [MessagePlaceholder: String] = [.app: "Shop", .code: "012345", .minutes: "10"]

    @Test func aTemplateIsFilledIn() throws {
        let template = try MessageTemplate(Self.whole, kind: .signIn)
        let text = template.filled(with: Self.values.merging([.link: "https://a/#b"]) { $1 })
        #expect(text.subject == "Shop")
        #expect(text.short == "012345 Shop")
        #expect(text.text == "Hello\nyou\n\n012345\n\nor https://a/#b\n\n10 min\n")
    }

    @Test func aParagraphWithoutItsValueIsLeftOut() throws {
        let text = try MessageTemplate(Self.whole, kind: .verify).filled(with: Self.values)
        #expect(text.paragraphs == ["Hello\nyou", "012345", "10 min"])
    }

    /// What is put in is not read again.
    @Test func valuesAreNoTemplates() throws {
        let template = try MessageTemplate(Self.whole, kind: .signIn)
        #expect(template.filled(with: Self.values.merging([.app: "{code}"]) { $1 }).subject == "{code}")
    }

    @Test func linesMayEndAsOnWindows() throws {
        let template = try MessageTemplate(Self.whole.replacing("\n", with: "\r\n"), kind: .signIn)
        #expect(try template == MessageTemplate(Self.whole, kind: .signIn))
    }

    @Test(arguments: [
        ("", "Subject"), ("Subject: a\n\n{code}\n", "SMS"), ("Subject:\nSMS: {code}\n\n{code}\n", "Subject"),
        ("SMS: {code}\nSubject: a\n\n{code}\n", "Subject"), ("Subject: a\nSMS: {code}\n{code}\n", "empty line"),
        ("Subject: a\nSMS: {code}\n", "empty line"), ("Subject: a\nSMS: {code}\n\nHello\n", "needs {code}"),
        ("Subject: a\nSMS: b\n\n{code}\n", "needs {code}"), ("Subject: {name}\nSMS: {code}\n\n{code}\n", "{name}"),
        ("Subject: a\nSMS: {code}\n\n{code\n", "not closed"), ("Subject: a\nSMS: {code} {link}\n\n{code}\n", "{link}"),
        ("Subject: a\u{7}b\nSMS: {code}\n\n{code}\n", "Subject"),
        ("Subject: a\nSMS: {code}\n\n{code}\n" + String(repeating: "x", count: 16_384), "longer"),
    ])
    func anErrorNamesWhatIsWrong(file: String, message: String) {
        let refusal = #expect(throws: Refusal.self) { try MessageTemplate(file, kind: .signIn) }
        #expect(refusal?.message.contains(message) == true, "\(refusal?.message ?? "")")
    }

    @Test func aResetHasNoCode() {
        let refusal = #expect(throws: Refusal.self) {
            try MessageTemplate("Subject: a\nSMS: {link}\n\n{link} {code}\n", kind: .passwordReset)
        }
        #expect(refusal?.message.contains("{code}") == true)
    }
}
