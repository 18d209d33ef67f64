import Foundation
import GatehouseAccessTokens
import Testing

@testable import IdentityCore
@testable import IdentityCredentials

@Suite struct AccountRulesTests {
    // MARK: - Display names

    @Test func aNameIsKeptAsItIsWritten() throws {
        for name in ["Ada", "Ada Lovelace", "José Álvarez", "李小龍", "محمد", "Zoë 👩🏽‍🚀", "O’Brien-Smith", "می‌خواهم"] {
            #expect(try DisplayName.read("  \(name) ")?.value == name.precomposedStringWithCanonicalMapping)
        }
        #expect(try DisplayName.read(String(repeating: "é", count: 100)) != nil)
    }

    @Test func aBlankNameIsNone() throws {
        for blank in ["", " ", "\n\t"] { #expect(try DisplayName.read(blank) == nil) }
    }

    @Test(
        arguments: [
            "Ada\u{202E}ecalevoL", "Ada\nLovelace", "Ada\u{0}", "Ada\u{7}", "A\u{200B}da", "\u{2066}Ada\u{2069}",
            "\u{200D}", "\u{3164}", "Ada\u{FEFF}", "Ada\u{E000}",
        ])
    func aNameHasNoInvisibleCharacters(name: String) {
        #expect(throws: Refusal.self) { try DisplayName.read(name) }
    }

    @Test func aLongNameIsRefused() {
        #expect(throws: Refusal.self) { try DisplayName.read(String(repeating: "a", count: 101)) }
        #expect(throws: Refusal.self) { try DisplayName.read("a" + String(repeating: "\u{301}", count: 2000)) }
    }

    @Test func whatIsForbiddenInApplesNameIsRemoved() {
        #expect(DisplayName.fromApple(givenName: "Ada", familyName: "Lovelace")?.value == "Ada Lovelace")
        #expect(DisplayName.fromApple(givenName: " ", familyName: "Lovelace")?.value == "Lovelace")
        #expect(DisplayName.fromApple(givenName: "A\u{202E}da\n", familyName: nil)?.value == "Ada")
        #expect(DisplayName.fromApple(givenName: nil, familyName: nil) == nil)
        let long = DisplayName.fromApple(givenName: String(repeating: "a", count: 5000), familyName: nil)
        #expect(long?.value.count == 100)
    }

    // MARK: - Roles and stores

    @Test func aRoleIsALowercaseWord() throws {
        #expect(try Role("courier").name == "courier")
        #expect(try Role("store_manager-2").name == "store_manager-2")
        #expect(Role.user.name == "user")
        for name in ["", "Courier", "1st", "a b", "a,b", "ä", String(repeating: "a", count: 33), "a\n"] {
            #expect(throws: Refusal.self) { try Role(name) }
        }
    }

    @Test func aStoreHasVisibleCharactersAlone() throws {
        #expect(try StoreID("Köln,3%").value == "Köln,3%")
        for store in ["", "a b", "a\u{200B}", "a\n", String(repeating: "a", count: 65)] {
            #expect(throws: Refusal.self) { try StoreID(store) }
        }
    }

    // MARK: - Lists of stores

    private static let longest =
        [String(repeating: "a", count: 64)] + Array(repeating: String(repeating: "a", count: 60), count: 49)

    @Test func aListOfStoresFitsIntoATokenAndAHeader() throws {
        // 64 + 49 names of 60, and 49 commas: 3053.
        #expect(try StoreList(Self.longest).ids.map(\.value) == Self.longest)
        #expect(try StoreList([]) == .none)
        #expect(throws: Refusal.self) { try StoreList(Array(repeating: "a", count: 51)) }
        #expect(throws: Refusal.self) { try StoreList(["a", "b c"]) }
    }

    /// Each store is short enough; together they would make a token that is too long.
    @Test func aListThatNoTokenHasRoomForIsRefused() {
        let store = String(repeating: "ä", count: 64)
        #expect(throws: Refusal.self) { try StoreList(Array(repeating: store, count: 50)) }
        let emoji = String(repeating: "👩🏽", count: 16)
        #expect(throws: Refusal.self) { try StoreList(Array(repeating: emoji, count: 50)) }
    }

    @Test func theFullestListMakesATokenThatCanBeSigned() throws {
        let signer = try AccessTokenSigner(key: .generate())
        for stores in [Self.longest, Array(repeating: String(repeating: "a\u{22}", count: 7) + "aaa", count: 50)] {
            let list = try StoreList(stores)
            let token = try signer.sign(
                AccessTokenClaims(
                    issuer: "https://" + String(repeating: "i", count: 247),
                    audience: String(repeating: "a", count: 255),
                    subject: UUID(), sessionID: UUID(), issuedAt: 1_800_000_000, expiresAt: 1_800_003_600,
                    clientID: String(repeating: "c", count: 255), role: String(repeating: "r", count: 32),
                    storeIDs: list.ids.map(\.value), email: String(repeating: "e", count: 254),
                    authenticationTime: 1_800_000_000,
                    authenticationMethods: Array(repeating: String(repeating: "m", count: 32), count: 8)))
            #expect(token.utf8.count <= AccessTokenVerifier.maximumLength)
        }
    }
}
