import Testing

@testable import IdentityService

@Suite struct DeletionStepTests {
    @Test func followEachOtherAndForgetTheUserLast() {
        var steps: [DeletionStep] = [.revokeSessions]
        while let next = steps.last?.next { steps.append(next) }
        #expect(steps == [.revokeSessions, .eraseDevices, .sweepSessions, .revokeAtApple])
        #expect(steps.map(\.needsUser) == [true, true, true, false])
    }
}
