import Foundation
import GatehouseBytes
import TestKit
import Testing

@testable import IdentityCore

@Suite struct EmailAddressTests {
    @Test(
        arguments: [
            ("ada@example.com", "ada@example.com"),
            ("  Ada.Lovelace@Example.COM\n", "ada.lovelace@example.com"),
            ("ＡＤＡ＠ｅｘａｍｐｌｅ．ｃｏｍ", "ada@example.com"),
            ("o'brien+tag@sub.example.co.uk", "o'brien+tag@sub.example.co.uk"),
            ("josé@example.com", "josé@example.com"),
            ("a@b.co", "a@b.co"),
        ])
    func isKeptInOneForm(text: String, value: String) throws {
        let address = try EmailAddress(text)
        #expect(address.value == value.precomposedStringWithCanonicalMapping)
        #expect(try EmailAddress(address.value) == address)
    }

    /// The same domain in Unicode, in the form that DNS and mail servers know, and in full-width characters.
    @Test(
        arguments: [
            ("ada@münchen.example", "ada@xn--mnchen-3ya.example", "ada@münchen.example"),
            ("ada@MU\u{308}NCHEN.example", "ada@xn--mnchen-3ya.example", "ada@münchen.example"),
            ("ada@XN--MNCHEN-3YA.example", "ada@xn--mnchen-3ya.example", "ada@münchen.example"),
            ("ÄRGER@straße.de", "ärger@xn--strae-oqa.de", "ärger@straße.de"),
            ("用户@例え。jp", "用户@xn--r8jz45g.jp", "用户@例え.jp"),
            ("ada@r3---sn.example.com", "ada@r3---sn.example.com", "ada@r3---sn.example.com"),
            // No name in Unicode has this form.
            ("ada@xn--ls8h.example", "ada@xn--ls8h.example", "ada@xn--ls8h.example"),
        ])
    func aDomainHasOneForm(text: String, value: String, unicode: String) throws {
        let address = try EmailAddress(text)
        #expect(address.value.isVerbatim(value.precomposedStringWithCanonicalMapping))
        #expect(EmailAddress.unicode(address.value).isVerbatim(unicode.precomposedStringWithCanonicalMapping))
        #expect(try EmailAddress(unicode) == address && EmailAddress(value) == address)
    }

    @Test func convertsNoDomainThatIsTooLong() throws {
        let label = String(repeating: "ü", count: 57)
        #expect(try EmailAddress("ada@\(String(repeating: "ü", count: 50)).example").value.hasPrefix("ada@xn--"))
        #expect(throws: Refusal.self) { try EmailAddress("ada@\(label).\(label).\(label).\(label).example") }
        #expect(throws: Refusal.self) { try EmailAddress("ada@\(String(repeating: "ü", count: 64)).example") }
        #expect(throws: Refusal.self) { try EmailAddress("ada@\(String(repeating: "ü.", count: 400))example") }
        #expect(throws: Refusal.self) { try EmailAddress("ada@i❤.example") }
    }

    @Test(arguments: TextMarks.pasted)
    func marksAtItsEndsAreTrimmed(mark: String) throws {
        #expect(try EmailAddress("\(mark) ada@example.com\(mark)\(mark)\n").value == "ada@example.com")
        #expect(try Identifier("\(mark)ada@example.com\(mark)").kind == .email)
        #expect(throws: Refusal.self) { try Identifier("\(mark) \(mark)") }
        #expect(throws: Refusal.self) { try EmailAddress("ada@exam\(mark)ple.com") }
        #expect(throws: Refusal.self) { try EmailAddress("ada\(mark)@example.com") }
    }

    @Test(
        arguments: [
            "", "ada", "@example.com", "ada@", "ada@@example.com", "ada@example@com", ".ada@example.com",
            "ada.@example.com", "a..da@example.com", "ada@example", "ada@-example.com", "ada@example-.com",
            "ada@example..com", "ada@.example.com", "ada@example.com.", "ada@127.0.0.1", "ada@[127.0.0.1]",
            "\"ada\"@example.com", "ada lovelace@example.com", "ada@exa mple.com", "ada@exam_ple.com",
            "ada\u{0}@example.com", "ada@example.com,eve@example.com", "ada\u{7F}@example.com",
            "Ada <ada@example.com>",
        ])
    func refusesWhatIsNoAddress(text: String) {
        #expect(throws: Refusal.self) { try EmailAddress(text) }
    }

    @Test(
        arguments: [
            "\u{200B}", "\u{200C}", "\u{200D}", "\u{200E}", "\u{202A}", "\u{202E}", "\u{2060}", "\u{2066}",
            "\u{2069}", "\u{FEFF}", "\u{AD}", "\u{34F}", "\u{115F}", "\u{3164}", "\u{E0041}", "\u{FE0F}",
            "\u{180E}", "\u{1D173}", "\u{FFF9}", "\u{E000}", "\u{0378}", "\u{85}", "\u{2028}",
        ])
    func refusesWhatCannotBeSeen(hidden: String) {
        #expect(throws: Refusal.self) { try EmailAddress("a\(hidden)da@example.com") }
        #expect(throws: Refusal.self) { try EmailAddress("ada@exam\(hidden)ple.com") }
    }

    @Test func holdsToTheLengthsOfRFC5321() throws {
        let local = String(repeating: "a", count: 64)
        let label = String(repeating: "b", count: 61)
        let longest = "\(local)@\(label).\(label).\(label).cc"
        #expect(longest.utf8.count == 253)
        #expect(try EmailAddress(longest).value == longest)
        #expect(throws: Refusal.self) { try EmailAddress("a\(local)@example.com") }
        #expect(throws: Refusal.self) { try EmailAddress("\(local)@\(label).\(label).\(label).cccc") }
        #expect(throws: Refusal.self) { try EmailAddress("ada@\(String(repeating: "b", count: 64)).com") }
    }
}

@Suite struct PhoneNumberTests {
    static let germany = try! PhoneRegion(callingCode: "+49")
    static let america = try! PhoneRegion(callingCode: "1")
    static let italy = try! PhoneRegion(callingCode: "39")
    static let russia = try! PhoneRegion(callingCode: "7")

    @Test(
        arguments: [
            "+491711234567", "+49 171 1234567", "+49 (0)171 123-45-67", "0049 171 1234567", "+49.171.1234567",
            "+49/171/1234567", "tel:+49-171-1234567", "TEL:+491711234567", " (+49) 171 1234567 ", "＋４９１７１１２３４５６７",
            "+49\u{A0}171\u{2009}1234567", "+49\u{2011}171\u{2013}1234567", "+٤٩١٧١١٢٣٤٥٦٧",
        ])
    func becomesE164(text: String) throws {
        #expect(try PhoneNumber(text).value == "+491711234567")
        #expect(try PhoneNumber(text, home: Self.america).value == "+491711234567")
    }

    @Test(arguments: [
        ("+972 050-123-4567", "+972501234567"), ("+61 0412 345 678", "+61412345678"),
        ("+44 07911 123456", "+447911123456"),
        ("+49 0171 1234567", "+491711234567"), ("0049 0171 1234567", "+491711234567"),
        ("tel:+490171123456", "+49171123456"),
        ("+36 06 20 123 4567", "+36201234567"), ("+36 (06) 20 123 4567", "+36201234567"),
        ("+36 (0)20 123 4567", "+36201234567"), ("+44 (0) 7911 123456", "+447911123456"),
        ("+49 (0)0171 1234567", "+491711234567"), ("+48 (0)22 123 45 67", "+48221234567"),
        // A 0 that is a part of the number, and digits that are a national prefix only within the country.
        ("+39 06 1234 5678", "+390612345678"), ("+39 (0)6 1234 5678", "+390612345678"),
        ("+225 01 23 45 67 89", "+2250123456789"), ("+242 06 123 4567", "+242061234567"),
        ("+229 01 95 12 34 56", "+2290195123456"), ("+378 0549 886377", "+3780549886377"),
        ("+7 812 123-45-67", "+78121234567"), ("+7 8 812 123-45-67", "+788121234567"),
        ("+1 1 212 555 0123", "+112125550123"), ("+241 06 03 12 34", "+24106031234"),
        ("+241 074 12 34 56", "+24174123456"),
        ("+250 06 123 456", "+25006123456"), ("+250 0788 123 456", "+250788123456"),
    ])
    func aNationalPrefixAfterTheCountryCodeIsDropped(text: String, number: String) throws {
        #expect(try PhoneNumber(text).value == number)
        #expect(try PhoneNumber(text, home: Self.germany).value == number)
        #expect(try PhoneNumber(number).value == number, "what is stored is read again")
    }

    /// The example numbers of PyPI's `phonenumbers`, which are those of Google's libphonenumber, in every spelling.
    @Test func numbersAreReadAsPhonenumbersReadsThem() async throws {
        struct Example: Decodable {
            var region: String
            /// E.164.
            var number: String
            var abroad: [String]
            var home: [String]
        }
        let python = try #require(
            ProcessInfo.processInfo.environment["GATEHOUSE_TEST_PHONENUMBERS"], "run the tests with `make test`")
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "example_numbers.py")
        let output = FileManager.default.temporaryDirectory.appending(path: "numbers-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: output) }
        let status = try await TestProcess(python, [script.path], output: output).waitForExit()
        let printed = try Data(contentsOf: output)
        try #require(status == 0, "\(String(decoding: printed, as: UTF8.self))")
        let examples = try JSONDecoder().decode([Example].self, from: printed)
        #expect(Set(examples.map(\.region)).count > 200)
        for example in examples {
            let home = try PhoneRegion(callingCode: PhoneNumber(example.number).callingCode)
            for spelling in example.abroad {
                #expect(try PhoneNumber(spelling).value == example.number, "\(example.region): \(spelling)")
                #expect(
                    try PhoneNumber(spelling.replacing("+", with: "00")).value == example.number,
                    "\(example.region): \(spelling)")
            }
            for spelling in example.home {
                #expect(try PhoneNumber(spelling, home: home).value == example.number, "\(example.region): \(spelling)")
            }
        }
    }

    @Test(arguments: TextMarks.pasted)
    func marksSeparateDigits(mark: String) throws {
        let text = "\(mark)+49 171\(mark) 123\(mark)4567\(mark)"
        #expect(try PhoneNumber(text).value == "+491711234567")
        #expect(try Identifier(text).value == "+491711234567")
        #expect(try PhoneNumber("\(mark)0171 1234567\(mark)", home: Self.germany).value == "+491711234567")
        #expect(throws: Refusal.self) { try PhoneNumber("+49 171\(mark)a1234567") }
    }

    @Test func readsNationalNumbersOfTheHomeCountry() throws {
        #expect(try PhoneNumber("0171 1234567", home: Self.germany).value == "+491711234567")
        #expect(try PhoneNumber("(0)171 1234567", home: Self.germany).value == "+491711234567")
        #expect(try PhoneNumber("171 1234567", home: Self.germany).value == "+491711234567")
        #expect(try PhoneNumber("(212) 555-0123", home: Self.america).value == "+12125550123")
        #expect(try PhoneNumber("1-212-555-0123", home: Self.america).value == "+12125550123")
        #expect(try PhoneNumber("011 49 171 1234567", home: Self.america).value == "+491711234567")
        #expect(try PhoneNumber("06 1234 5678", home: Self.italy).value == "+390612345678")
        #expect(try PhoneNumber("8 912 345-67-89", home: Self.russia).value == "+79123456789")
        #expect(try PhoneNumber("812 345-67-89", home: Self.russia).value == "+78123456789")
        #expect(try PhoneNumber("8 (029) 491-19-11", home: PhoneRegion(callingCode: "375")).value == "+375294911911")
    }

    @Test func saysWhatIsMissingFromANationalNumber() {
        #expect {
            try PhoneNumber("0171 1234567")
        } throws: { error in
            (error as? Refusal)?.message.contains("country code") == true
        }
    }

    @Test(
        arguments: [
            "+", "+1", "+123456", "+1234567890123456", "+0123456789", "00 0123456789", "+49 171 CALL-ME",
            "+49 171 1234567 x12", "+49 171 1234567;ext=12", "++491711234567", "+49 +171 1234567", "49+1711234567",
            "+49 171 1234567#", "½1234567", "+49 171\u{E000}1234567", "+49 171\u{0}1234567", "+49 171\u{200B}CALL-ME",
        ])
    func refusesWhatIsNoNumber(text: String) {
        #expect(throws: Refusal.self) { try PhoneNumber(text) }
    }

    @Test(arguments: ["", "0", "+", "1234", "4a", "٤٩"])
    func refusesCallingCodesThatDoNotExist(code: String) {
        #expect(throws: Refusal.self) { try PhoneRegion(callingCode: code) }
    }

    @Test(arguments: [
        ("+491711234567", "49", "49"), ("+79161234567", "7", "7"), ("+12125550123", "1", "1212"),
        ("+18765550123", "1", "1876"), ("+972501234567", "972", "972"), ("+966501234567", "966", "966"),
        ("+97150123456", "971", "971"), ("+201001234567", "20", "20"), ("+211912345678", "211", "211"),
        ("+3581234567", "358", "358"), ("+88216123456", "882", "882"),
    ])
    func numbersAreCountedByWhereTheyLead(number: String, callingCode: String, destination: String) throws {
        let number = try PhoneNumber(number)
        #expect(number.callingCode == callingCode)
        #expect(number.destination == destination)
    }
}

@Suite struct IdentifierTests {
    @Test func tellsAddressesFromNumbers() throws {
        #expect(try Identifier(" Ada@Example.com ") == .email(EmailAddress("ada@example.com")))
        #expect(try Identifier("00 49 171 1234567") == .phone(PhoneNumber("+491711234567")))
        #expect(try Identifier("ada＠example.com").kind == .email)
        #expect(try Identifier("+49 171 1234567").value == "+491711234567")
    }

    @Test(arguments: ["", "   ", "ada", "@", String(repeating: "1", count: 2000)])
    func refusesAnythingElse(text: String) {
        #expect(throws: Refusal.self) { try Identifier(text) }
    }
}

/// What programs add to what is copied from them.
enum TextMarks {
    static let pasted = [
        "\u{200B}", "\u{200D}", "\u{200E}", "\u{200F}", "\u{202A}", "\u{202B}", "\u{202C}", "\u{202D}", "\u{202E}",
        "\u{2060}",
        "\u{2066}", "\u{2068}", "\u{2069}", "\u{FEFF}", "\u{AD}", "\u{61C}",
    ]
}
