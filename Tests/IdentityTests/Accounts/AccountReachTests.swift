import Foundation
import Testing

@testable import IdentityService

@Suite struct AccountReachTests {
    /// Every way in counts by itself, and nothing else does.
    @Test(arguments: [
        (apple: false, password: false, identifier: true, verified: false, codes: true, reaches: false),
        (apple: false, password: true, identifier: false, verified: false, codes: true, reaches: false),
        (apple: false, password: true, identifier: true, verified: false, codes: false, reaches: true),
        (apple: true, password: false, identifier: false, verified: false, codes: false, reaches: true),
        (apple: false, password: false, identifier: true, verified: true, codes: false, reaches: false),
        (apple: false, password: false, identifier: true, verified: true, codes: true, reaches: true),
    ])
    func aWayInIsEnough(
        apple: Bool, password: Bool, identifier: Bool, verified: Bool, codes: Bool, reaches: Bool
    ) {
        let kinds: Set<Identifier.Kind> = codes ? [.email] : [.phone]
        let account = Account(
            id: UUID(), email: "ada@example.com", emailVerified: verified, phoneVerified: false, role: "user",
            storeIDs: [], state: .active, hasIdentifier: identifier, hasPassword: password, hasApple: apple, version: 1,
            credentialsVersion: 1, createdAt: .now)
        #expect(account.isReachable(byCodeTo: kinds) == reaches)
    }

    @Test func aPrivateRelayAddressAloneIsNoWayIn() {
        var account = Account(
            id: UUID(), email: "x@privaterelay.appleid.com", emailVerified: true, phoneVerified: false, role: "user",
            storeIDs: [], state: .active, hasIdentifier: true, hasPassword: false, hasApple: false, version: 1,
            credentialsVersion: 1, createdAt: .now)
        #expect(!account.isReachable(byCodeTo: [.email]))
        account.phoneVerified = true
        #expect(account.isReachable(byCodeTo: [.email, .phone]))
    }
}
