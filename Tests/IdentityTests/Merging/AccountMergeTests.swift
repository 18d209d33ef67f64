import Foundation
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

@Suite struct AccountMergeTests {
    private func account(
        _ id: UUID = UUID(), made: TimeInterval, role: String = "user", stores: [String] = [],
        state: AccountState = .active
    ) -> Account {
        Account(
            id: id, email: nil, emailVerified: false, phoneVerified: false, role: role, storeIDs: stores, state: state,
            hasIdentifier: false, credentials: [CredentialName(.password)], version: 1, credentialsVersion: 1,
            createdAt: Date(timeIntervalSince1970: made))
    }

    @Test func theOlderOneStaysWhoeverAsks() throws {
        let (old, new) = (account(made: 1), account(made: 2))
        let expected = AccountMerge(from: new.id, into: old.id)
        #expect(try AccountMerge.decide(old, new, hasOpenChange: false) == expected)
        #expect(try AccountMerge.decide(new, old, hasOpenChange: false) == expected)
        let (one, other) = (account(made: 1), account(made: 1))
        let merge = try AccountMerge.decide(one, other, hasOpenChange: false)
        let reversed = try AccountMerge.decide(other, one, hasOpenChange: false)
        #expect(reversed == merge, "of the same moment: always the same")
    }

    @Test func nobodyGetsRightsOrLosesThem() {
        let plain = account(made: 1, stores: ["a", "b"])
        for other in [
            account(made: 2, role: "operator", stores: ["a", "b"]), account(made: 2, stores: ["a"]),
            account(made: 2, stores: ["a", "b", "c"]),
        ] {
            #expect(throws: AccountMerge.Obstacle.rights) {
                try AccountMerge.decide(plain, other, hasOpenChange: false)
            }
            #expect(throws: AccountMerge.Obstacle.rights) {
                try AccountMerge.decide(other, plain, hasOpenChange: false)
            }
        }
        #expect(throws: Never.self) {
            try AccountMerge.decide(plain, account(made: 2, stores: ["b", "a"]), hasOpenChange: false)
        }
    }

    /// The account that lost an address to another one is merged with it, whatever its rights.
    @Test func thePairOfALostIdentifierKeepsTheOlderOnesRights() throws {
        let (courier, plain) = (account(made: 1, role: "courier", stores: ["a"]), account(made: 2))
        for (one, other) in [(courier, plain), (plain, courier)] {
            let merge = try AccountMerge.decide(one, other, hasOpenChange: false, shareLostIdentifier: true)
            #expect(merge == AccountMerge(from: plain.id, into: courier.id))
        }
        #expect(throws: AccountMerge.Obstacle.lateChange) {
            try AccountMerge.decide(courier, plain, hasOpenChange: true, shareLostIdentifier: true)
        }
    }

    @Test func whoIsDisabledOrMayBeAThiefsStaysAlone() {
        let (one, disabled) = (account(made: 1), account(made: 2, state: .disabled))
        #expect(throws: AccountMerge.Obstacle.disabled) {
            try AccountMerge.decide(one, disabled, hasOpenChange: false)
        }
        #expect(throws: AccountMerge.Obstacle.lateChange) {
            try AccountMerge.decide(one, account(made: 2), hasOpenChange: true)
        }
    }

    /// What is verified goes before what is not; else each keeps its own.
    @Test func oneIdentifierOfEachKindStays() {
        for own in [nil, false, true] as [Bool?] {
            #expect(!AccountMerge.takesOver(own: own, other: nil))
            #expect(AccountMerge.takesOver(own: own, other: false) == (own == nil))
            #expect(AccountMerge.takesOver(own: own, other: true) == (own != true))
        }
    }
}
