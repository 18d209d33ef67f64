import Foundation
import Testing

@testable import IdentityService

@Suite struct DisplayNameTests {
    @Test func keepsWhatPeopleAreCalled() throws {
        for name in ["Ada", "Ada Lovelace", "José Álvarez", "李小龍", "محمد", "Zoë 👩🏽‍🚀", "O’Brien-Smith", "می‌خواهم"] {
            #expect(try DisplayName.read("  \(name) ")?.value == name.precomposedStringWithCanonicalMapping)
        }
        #expect(try DisplayName.read(String(repeating: "é", count: 100)) != nil)
    }

    @Test func blankTakesTheNameAway() throws {
        for blank in ["", " ", "\n\t"] { #expect(try DisplayName.read(blank) == nil) }
    }

    @Test(
        arguments: [
            "Ada\u{202E}ecalevoL", "Ada\nLovelace", "Ada\u{0}", "Ada\u{7}", "A\u{200B}da", "\u{2066}Ada\u{2069}",
            "\u{200D}", "\u{3164}", "Ada\u{FEFF}", "Ada\u{E000}",
        ])
    func refusesWhatDeceives(name: String) {
        #expect(throws: Refusal.self) { try DisplayName.read(name) }
    }

    @Test func refusesWhatIsTooLong() {
        #expect(throws: Refusal.self) { try DisplayName.read(String(repeating: "a", count: 101)) }
        #expect(throws: Refusal.self) { try DisplayName.read("a" + String(repeating: "\u{301}", count: 2000)) }
    }

    @Test func takesApplesNameAsFarAsItGoes() {
        #expect(DisplayName.fromApple(givenName: "Ada", familyName: "Lovelace")?.value == "Ada Lovelace")
        #expect(DisplayName.fromApple(givenName: " ", familyName: "Lovelace")?.value == "Lovelace")
        #expect(DisplayName.fromApple(givenName: "A\u{202E}da\n", familyName: nil)?.value == "Ada")
        #expect(DisplayName.fromApple(givenName: nil, familyName: nil) == nil)
        let long = DisplayName.fromApple(givenName: String(repeating: "a", count: 5000), familyName: nil)
        #expect(long?.value.count == 100)
    }
}
