import AccessToken
import Foundation
import Testing

@testable import IdentityService

@Suite struct StoreListTests {
    private static let longest =
        [String(repeating: "a", count: 64)] + Array(repeating: String(repeating: "a", count: 60), count: 49)

    @Test func hasRoomForWhatFitsIntoATokenAndAHeader() throws {
        // 64 + 49 names of 60, and 49 commas: 3053.
        #expect(try StoreList(Self.longest).ids.map(\.value) == Self.longest)
        #expect(try StoreList([]) == .none)
        #expect(throws: Refusal.self) { try StoreList(Array(repeating: "a", count: 51)) }
        #expect(throws: Refusal.self) { try StoreList(["a", "b c"]) }
    }

    /// Each store is short enough; together they would make a token that is too long.
    @Test func refusesWhatNoTokenHasRoomFor() {
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
