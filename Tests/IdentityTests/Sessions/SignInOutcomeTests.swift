import Testing

@testable import IdentityService

@Suite struct SignInOutcomeTests {
    @Test func everyCase() {
        func outcome(_ state: AccountState, _ credentialsVersion: Int64) -> SignInOutcome {
            .decide(
                verifiedAt: 3, now: AccountStanding(state: state, version: 9, credentialsVersion: credentialsVersion))
        }
        #expect(SignInOutcome.decide(verifiedAt: 3, now: nil) == .gone)
        #expect(outcome(.disabled, 3) == .disabled)
        #expect(outcome(.disabled, 4) == .disabled)
        #expect(outcome(.active, 4) == .moved)
        #expect(outcome(.active, 3) == .stands)
    }
}
