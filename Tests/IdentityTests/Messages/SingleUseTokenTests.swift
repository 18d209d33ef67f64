import GatehouseBytes
import Testing

@testable import IdentityCore
@testable import IdentityCredentials
@testable import IdentityService

@Suite struct SingleUseTokenTests {
    @Test(arguments: [
        (SingleUseToken.Purpose.passwordReset, "ghpr_"), (.identifierUndo, "ghiu_"), (.code, "ghlt_"),
    ])
    func tokensAreLongAndNameTheirPurpose(_ purpose: SingleUseToken.Purpose, prefix: String) {
        let token = SingleUseToken(purpose)
        #expect(token.text.hasPrefix(prefix) && token.text.utf8.count == 5 + 43)
        #expect(token.digest == SingleUseToken.digest(of: token.text))
        #expect(token.text != SingleUseToken(purpose).text)
    }

    @Test(arguments: TextMarks.pasted) func marksAroundACopiedTokenAreTrimmed(mark: String) {
        let token = SingleUseToken(.passwordReset)
        #expect(SingleUseToken.digest(of: "\(mark) \(token.text)\(mark)\n") == token.digest)
    }

    /// Links that were sent by an earlier version stay valid.
    @Test func theDigestStaysAsItIs() {
        let digest = SingleUseToken.digest(of: "ghpr_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
        #expect(Hexadecimal.string(digest) == "f53f1e1f00fc04cc07104aa6f33d16999d1923d9db5bcfb073beeb6ba8faf80a")
    }
}
