@testable import AppleSimulator
import Testing

@Suite struct AuthorizationCodesTests {
    private let grant = Grant(SignInRequest(), audience: "com.example.app", issuer: "https://apple.test", sub: "1.2.3")

    @Test func aCodeIsGoodOnce() {
        var codes = AuthorizationCodes()
        codes.issue("c1", for: grant, now: 1_000)
        #expect(codes.redeem("c1", now: 1_001)?.sub == "1.2.3")
        #expect(codes.redeem("c1", now: 1_001) == nil)
        #expect(codes.redeem("c2", now: 1_001) == nil)
    }

    @Test func aCodeIsGoodForFiveMinutes() {
        var codes = AuthorizationCodes()
        codes.issue("c1", for: grant, now: 1_000)
        codes.issue("c2", for: grant, now: 1_000)
        #expect(codes.redeem("c1", now: 1_299) != nil)
        #expect(codes.redeem("c2", now: 1_300) == nil)
    }

    @Test func expiredCodesAreForgotten() {
        var codes = AuthorizationCodes()
        codes.issue("c1", for: grant, now: 1_000)
        codes.issue("c2", for: grant, now: 1_300)
        #expect(codes.redeem("c1", now: 1_000) == nil)
        #expect(codes.redeem("c2", now: 1_301) != nil)
    }
}
