import Foundation
import Testing

@testable import IdentityCore

@Suite struct IdentifierClaimTests {
    private let claimant = UUID()
    private let other = UUID()

    @Test func everyCase() {
        for isClaimVerified in [false, true] {
            #expect(IdentifierClaim.decide(holder: nil, claimant: claimant, isVerified: isClaimVerified) == .free)
            for isVerified in [false, true] {
                let own = IdentifierClaim.Holder(userID: claimant, isVerified: isVerified)
                #expect(IdentifierClaim.decide(holder: own, claimant: claimant, isVerified: isClaimVerified) == .own)
                let foreign = IdentifierClaim.Holder(userID: other, isVerified: isVerified)
                let expected: IdentifierClaim = isClaimVerified && !isVerified ? .takeOver(from: other) : .refused
                #expect(
                    IdentifierClaim.decide(holder: foreign, claimant: claimant, isVerified: isClaimVerified) == expected
                )
            }
        }
    }
}
