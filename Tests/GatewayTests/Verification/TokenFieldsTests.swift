import GatehouseAccessTokens
import Testing

@testable import GatewayService

@Suite("Fields that tell of a token")
struct TokenFieldsTests {
    @Test("Nothing of a token gets into a head but visible ASCII")
    func identityLines() {
        let claims = GatewayHarness.claims(role: "a\r\nb é", stores: ["x\r\ny", "z"])
        let text = String(decoding: claims.identityLines(isForeign: false), as: UTF8.self)
        #expect(text.contains("Gatehouse-Role: a%0D%0Ab%20%C3%A9\r\n"))
        #expect(text.contains("Gatehouse-Store-Ids: x%0D%0Ay,z\r\n"))
        #expect(text.split(separator: "\r\n").count == 4)
    }

    @Test("A service is told when the user authenticated, and how, where the token tells")
    func authentication() {
        var claims = GatewayHarness.claims()
        #expect(!String(decoding: claims.identityLines(isForeign: false), as: UTF8.self).contains("Authentication"))
        claims.authenticationTime = 1_800_000_000
        claims.authenticationMethods = ["otp", "s,m\r\ns"]
        let lines = String(decoding: claims.identityLines(isForeign: false), as: UTF8.self).split(separator: "\r\n")
        #expect(
            lines.suffix(2) == [
                "Gatehouse-Authentication-Time: 1800000000", "Gatehouse-Authentication-Methods: otp,s%2Cm%0D%0As",
            ])
    }
}
