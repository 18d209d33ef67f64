import Contracts
import Testing

@Suite struct OAuthErrorTests {
    /// On `invalid_grant` a client signs its user out.
    @Test(arguments: ErrorCode.allCases)
    func onlyARefusedRefreshTokenIsAnInvalidGrant(_ code: ErrorCode) {
        let error = OAuthError(Problem(code))
        #expect((error.code == "invalid_grant") == (code == .invalidRefreshToken))
        #expect(error.description == code.defaultDetail)
    }

    @Test(arguments: [ErrorCode.unavailable, .timeout, .badGateway, .internal])
    func anOutageIsTemporary(_ code: ErrorCode) {
        let error = OAuthError(Problem(code))
        #expect(error.code == "temporarily_unavailable" && error.status == 503 && error.retryAfter == 1)
        #expect(OAuthError(Problem(code, retryAfter: 7)).retryAfter == 7)
    }

    @Test func statusesOfRefusals() {
        let statuses: [ErrorCode: Int] = [
            .invalidRefreshToken: 400, .invalidRequest: 400, .unsupportedMediaType: 400, .invalidToken: 401,
            .payloadTooLarge: 413, .rateLimited: 429,
        ]
        for (code, status) in statuses { #expect(OAuthError(Problem(code)).status == status, "\(code)") }
    }

    @Test func onlyOAuthsEndpointsRefuseInItsForm() {
        let paths = PublicRoute.all.filter { $0.errorForm == .oauth }.map(\.path)
        #expect(paths == ["/oauth/token", "/oauth/revoke"])
    }
}
