import Foundation
import Testing

@testable import IdentityService

@Suite struct AuthenticationAgeTests {
    @Test func everyCase() {
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
}
