import AccessToken
import Contracts
import Testing

@testable import IdentityService

@Suite struct AppleTokenVerifierTests {
    @Test func aFailureOfOpenSSLIsNotTheUsersFault() {
        let unavailable = #expect(throws: Problem.self) {
            try AppleTokenVerifier.requireRefusal(AccessTokenError(.cryptography, "OpenSSL failed."))
        }
        #expect(unavailable?.code == .unavailable)
        for code in [AccessTokenError.Code.badSignature, .malformed] {
            #expect(throws: Never.self) { try AppleTokenVerifier.requireRefusal(AccessTokenError(code, "A token.")) }
        }
    }
}
