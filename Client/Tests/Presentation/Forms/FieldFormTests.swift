import Testing

@testable import GatehouseClient

@Suite("A form of text fields")
struct FieldFormTests {
    private func filled(_ fields: [FieldForm.Field] = [.identifier, .password, .newPassword]) -> FieldForm {
        var form = FieldForm(fields)
        form.entry[.identifier] = " ada@example.com\n"
        form.entry[.password] = "old"
        form.entry[.newPassword] = "correct horse"
        return form
    }

    @Test("Valid input is submitted, with the identifier trimmed and passwords as entered")
    func submits() throws {
        var form = filled()
        let submitted = form.submit()
        let entry = try #require(submitted)
        #expect(entry[.identifier] == "ada@example.com" && entry[.password] == "old")
        #expect(entry[.newPassword] == "correct horse")
    }

    @Test("Faults are shown after the first attempt, until the field is valid")
    func faults() {
        var form = FieldForm([.identifier, .newPassword])
        #expect(form.fault(of: .identifier) == nil)
        #expect(form.submit() == nil)
        #expect(form.fault(of: .identifier) == .missing && form.fault(of: .newPassword) == .missing)
        form.entry[.newPassword] = "1234567"
        #expect(form.fault(of: .newPassword) == .tooShort)
        form.entry[.newPassword] = "12345678"
        #expect(form.fault(of: .newPassword) == nil)
        form.entry[.identifier] = " \n"
        #expect(form.submit() == nil && form.fault(of: .identifier) == .missing)
    }

    @Test("Only the form's own fields are checked")
    func otherFields() {
        var form = FieldForm([.identifier])
        form.entry[.identifier] = "ada@example.com"
        #expect(form.submit() != nil)
        var empty = FieldForm([])
        #expect(empty.submit() != nil)
    }

    @Test("After success the passwords are removed")
    func succeeds() throws {
        var form = filled()
        let submitted = form.submit()
        let entry = try #require(submitted)
        form.succeeded(entry, with: ())
        #expect(form.entry[.password] == "" && form.entry[.newPassword] == "")
        #expect(form.entry[.identifier] != "")
    }

    @Test("A printed form does not contain the values")
    func printsNothing() throws {
        var form = filled()
        let submitted = form.submit()
        let entry = try #require(submitted)
        _ = form.task.begin(entry)
        var dumped = ""
        dump(form, to: &dumped)
        let text = dumped + String(describing: form) + String(reflecting: form)
        #expect(!text.contains("correct horse") && !text.contains("ada@"))
    }
}
