import Testing

@testable import IdentityService

@Suite struct RoleTests {
    @Test func followsTheSpellingOfTokens() throws {
        #expect(try Role("courier").name == "courier")
        #expect(try Role("store_manager-2").name == "store_manager-2")
        #expect(Role.user.name == "user")
        for name in ["", "Courier", "1st", "a b", "a,b", "ä", String(repeating: "a", count: 33), "a\n"] {
            #expect(throws: Refusal.self) { try Role(name) }
        }
    }

    @Test func storesAreVisible() throws {
        #expect(try StoreID("Köln,3%").value == "Köln,3%")
        for store in ["", "a b", "a\u{200B}", "a\n", String(repeating: "a", count: 65)] {
            #expect(throws: Refusal.self) { try StoreID(store) }
        }
    }
}
