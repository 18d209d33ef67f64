import Foundation
import Testing

@testable import IdentityCore
@testable import IdentityService

@Suite struct SearchTests {
    @Test(
        "What an operator types is looked for in the form in which identifiers are kept",
        arguments: [
            (" Ada@Ex", "ada@ex"), ("ADA", "ada"), ("ＡＤＡ", "ada"), ("+49 (171) 12", "+4917112"), ("0049 171", "+49171"),
            ("0171-12", "+4917112"), ("171", "171"), ("0171@", "0171@"), ("+", "+"), ("100%_", "100%_"),
            ("+61 0412", "+61412"), ("\u{202A}+49 171\u{202C}", "+49171"), ("\u{FEFF}ada@ex", "ada@ex"),
            ("ada@münchen.ex", "ada@xn--mnchen-3ya.ex"),
        ])
    func prefixes(_ text: String, _ value: String) throws {
        let prefix = try IdentifierPrefix(text, home: PhoneRegion(callingCode: "49"))
        #expect(prefix.value == value && prefix.end.unicodeScalars.last?.value == 0x10FFFF)
    }

    @Test("National numbers are none without a country of one's own")
    func homeless() throws {
        #expect(try IdentifierPrefix("0171").value == "0171")
        #expect(try IdentifierPrefix("0049171").value == "+49171")
    }

    @Test(
        "What no identifier begins with is refused",
        arguments: ["", "  ", "a\u{0}b", "a\u{200B}b", String(repeating: "a", count: 509)])
    func noPrefixes(_ text: String) {
        #expect(throws: Refusal.self) { try IdentifierPrefix(text) }
    }

    @Test func idsAreFoundByWhatTheyBeginWith() throws {
        let prefix = try IDPrefix("4F6-")
        #expect(prefix.first.uuidString == "4F600000-0000-0000-0000-000000000000")
        #expect(prefix.last.uuidString == "4F6FFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF")
        let id = UUID()
        let whole = try IDPrefix(id.uuidString)
        #expect(whole.first == id && whole.last == id)
        for text in ["", "-", "g", "4f6 ", "４", String(repeating: "0", count: 33), String(repeating: "-", count: 37)] {
            #expect(throws: Refusal.self) { try IDPrefix(text) }
        }
    }

    @Test func cursorsAreReadAsTheyWereWritten() throws {
        let time = Date(timeIntervalSince1970: 1_795_000_000.123457)
        for cursor in [UserCursor.identifier("ada+1@example.com"), .id(UUID()), .age(time, UUID())] {
            let order: UserSearch.Order =
                switch cursor {
                case .identifier: .identifier
                case .id: .id
                case .age: .age
                }
            let read = try UserCursor(cursor.text, order: order)
            #expect(read.text == cursor.text)
            for text in ["", "é", "..", "1.", ".1", "9999999999999999999.1", String(repeating: "A", count: 1025)]
            where order != .identifier || !text.isEmpty {
                #expect(throws: Refusal.self) { try UserCursor(text, order: order) }
            }
        }
        #expect(throws: Refusal.self) { try UserCursor("AA", order: .identifier) }
        let entry = AuditCursor(at: time, id: 7)
        #expect(entry.text == "1795000000123457.7")
        #expect(try AuditCursor(entry.text).text == entry.text)
        for text in ["", "7", "a.7", "7.a", "-7.7"] { #expect(throws: Refusal.self) { try AuditCursor(text) } }
    }

    @Test func everybodysRoleIsNoOperators() throws {
        #expect(try Role(ofOperators: "support").name == "support")
        for name in ["user", "", "Operator"] { #expect(throws: Refusal.self) { try Role(ofOperators: name) } }
    }
}
