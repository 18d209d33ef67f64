import Testing

@testable import IdentityService

@Suite struct AuditCountTests {
    private static let now: Int64 = 1_000_000 * 3600 + 600

    @Test func hoursAreThoseOfTheClockAndNoneIsLeftOut() {
        let steps = [
            AuditCount(at: Self.now - 25 * 3600, signIns: 100), AuditCount(at: Self.now - 3600, signIns: 7),
            AuditCount(at: Self.now - 600, signIns: 1), AuditCount(at: Self.now - 300, signIns: 2, refusals: 3),
            // By a clock that is ahead.
            AuditCount(at: Self.now + 3600, signIns: 100),
        ]
        let hours = AuditCount.hours(of: steps, before: Self.now)
        #expect(hours.count == 24 && hours.first?.at == (1_000_000 - 23) * 3600)
        #expect(hours[23] == AuditCount(at: 1_000_000 * 3600, signIns: 3, refusals: 3))
        #expect(hours[22].signIns == 7 && hours[..<22].allSatisfy { $0.signIns == 0 })
    }

    @Test func aSumHasTheStepsThatBeganWithinTheTime() {
        let steps = [
            AuditCount(at: Self.now - 3600, signIns: 10), AuditCount(at: Self.now - 3599, signIns: 2),
            AuditCount(at: Self.now, registrations: 1),
        ]
        let sum = AuditCount.sum(of: steps, within: 3600, before: Self.now)
        #expect(sum == AuditCount(at: Self.now - 3600, signIns: 2, registrations: 1))
    }
}
