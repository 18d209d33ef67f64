import Testing

@testable import GatehouseClient

@Suite("The form for a six-digit code")
struct CodeFormTests {
    private static let asked = CodeResponse(codeRequest: "request", expiresIn: 600, resendAfter: 30)

    private func sent(to identifier: String? = nil) -> CodeForm {
        var form = CodeForm(identifier: identifier)
        if identifier == nil { form.identifier = " ada@example.com\n" }
        let action = form.submit()
        #expect(action == .request(identifier: "ada@example.com"))
        _ = form.task.begin(.request(identifier: "ada@example.com"))
        form.succeeded(.request(identifier: "ada@example.com"), with: .sent(Self.asked, at: .seconds(100)))
        form.task.end()
        return form
    }

    @Test("Without an identifier no code is requested")
    func identifierMissing() {
        var form = CodeForm()
        #expect(form.fault == nil)
        #expect(form.submit() == nil && form.fault == .identifierMissing)
        form.identifier = "\u{202A} \u{200B}"
        #expect(form.fault == .identifierMissing)
        form.identifier = "\u{202A}ada@example.com\u{202C}\u{FEFF}\n"
        #expect(form.fault == nil && form.submit() == .request(identifier: "ada@example.com"))
    }

    @Test(
        "Six digits of any script are a code; other characters are ignored",
        arguments: [
            ("012345", "012345"), (" 012-345 ", "012345"), ("٠١٢٣٤٥", "012345"), ("01234", nil), ("0123456", nil),
            ("", nil), ("abcdef", nil), ("\u{FEFF}012\u{200B}345\u{2060}", "012345"),
            ("0\u{200D}12345\u{FE0F}", "012345"),
        ])
    func digits(typed: String, code: String?) {
        var form = sent()
        form.code = Redacted(typed)
        let action = form.submit()
        #expect((form.fault == .codeIncomplete) == (code == nil))
        let expected = code.map { code in
            CodeForm.Action.verify(
                CodeForm.Entry(identifier: "ada@example.com", code: Redacted(code), asked: Self.asked))
        }
        #expect(action == expected)
    }

    @Test("Another code is requested after the server's delay")
    func resends() {
        var form = sent()
        #expect(form.resendsFrom == .seconds(130) && form.resend() == nil)
        form.allowResend(at: .seconds(129))
        #expect(form.resend() == nil)
        form.allowResend(at: .seconds(130))
        #expect(form.resend() == .request(identifier: "ada@example.com"))
        form.code = Redacted("0123")
        let next = CodeResponse(codeRequest: "next", expiresIn: 600, resendAfter: 60)
        form.succeeded(.request(identifier: "ada@example.com"), with: .sent(next, at: .seconds(140)))
        #expect(form.resend() == nil && form.resendsFrom == .seconds(200) && form.asked == next)
        #expect(form.code.value.isEmpty)
    }

    @Test("The user may enter another identifier, unless it is fixed")
    func changesIdentifier() {
        var form = sent()
        form.changeIdentifier()
        #expect(form.asked == nil && form.resendsFrom == nil && form.identifier == " ada@example.com\n")
        var fixed = sent(to: "ada@example.com")
        fixed.changeIdentifier()
        #expect(fixed.asked == Self.asked)
    }

    @Test("A link is used after the message was requested, and only for a sign-in")
    func opensLink() {
        var form = CodeForm(identifier: "ada@example.com", acceptsLink: true)
        #expect(form.open(linkToken: "token") == nil)
        form.succeeded(.request(identifier: "ada@example.com"), with: .sent(Self.asked, at: .zero))
        #expect(form.open(linkToken: "") == nil)
        #expect(form.open(linkToken: "token") == .open(linkToken: Redacted("token"), asked: Self.asked))
        _ = form.task.begin(.request(identifier: "ada@example.com"))
        #expect(form.open(linkToken: "token") == nil)
        #expect(sent(to: "ada@example.com").open(linkToken: "token") == nil)
    }

    @Test("A printed form does not contain the code")
    func printsNothing() {
        var form = sent()
        form.code = Redacted("987654")
        _ = form.submit().map { form.task.begin($0) }
        var dumped = ""
        dump(form, to: &dumped)
        #expect(!(dumped + String(describing: form) + String(reflecting: form)).contains("987654"))
    }
}
