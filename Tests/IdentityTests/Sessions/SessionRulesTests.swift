import Foundation
import GatehouseServiceContracts
import Testing

@testable import IdentityCore

@Suite struct SessionRulesTests {
    @Test func aProofIsRecentForTenMinutes() {
        let age = AuthenticationAge(maximum: 600)
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        func isAccepted(_ seconds: TimeInterval) -> Bool { age.accepts(now.addingTimeInterval(-seconds), now: now) }
        #expect(!age.accepts(nil, now: now), "a token that does not tell")
        #expect(isAccepted(0) && isAccepted(600))
        #expect(isAccepted(605), "the clocks may differ")
        #expect(!isAccepted(606) && !isAccepted(86_400))
        #expect(isAccepted(-3) && isAccepted(-3600), "the other clock is ahead")
        #expect(!age.accepts(.distantPast, now: now))
    }

    @Test func anAccountThatChangedDuringASignIn() {
        func outcome(_ state: AccountState, _ credentialsVersion: Int64) -> SignInOutcome {
            .decide(
                verifiedAt: 3, now: AccountVersions(state: state, version: 9, credentialsVersion: credentialsVersion))
        }
        #expect(SignInOutcome.decide(verifiedAt: 3, now: nil) == .gone)
        #expect(outcome(.disabled, 3) == .disabled)
        #expect(outcome(.disabled, 4) == .disabled)
        #expect(outcome(.active, 4) == .credentialsChanged)
        #expect(outcome(.active, 3) == .valid)
    }

    @Test func anErrorNamesTheDevicesField() throws {
        #expect(try SessionDevice(name: "Ada's iPhone", model: "iPhone17,1").checked().name == "Ada's iPhone")
        #expect(throws: Problem.self) { try SessionDevice(name: "a\u{202E}b").checked() }
        #expect {
            try SessionDevice(osVersion: String(repeating: "1", count: 201)).checked()
        } throws: { error in
            (error as? Problem)?.errors.first?.field == "device.osVersion"
        }
    }
}
