import Foundation
import Testing

@testable import IdentityService

@Suite struct IdentifierClaimTests {
    private let claimant = UUID()
    private let other = UUID()

    @Test func everyCase() {
        for proves in [false, true] {
            #expect(IdentifierClaim.decide(holder: nil, claimant: claimant, proves: proves) == .free)
            for isVerified in [false, true] {
                let own = IdentifierClaim.Holder(userID: claimant, isVerified: isVerified)
                #expect(IdentifierClaim.decide(holder: own, claimant: claimant, proves: proves) == .own)
                let foreign = IdentifierClaim.Holder(userID: other, isVerified: isVerified)
                let expected: IdentifierClaim = proves && !isVerified ? .takeOver(from: other) : .refused
                #expect(IdentifierClaim.decide(holder: foreign, claimant: claimant, proves: proves) == expected)
            }
        }
    }
}
