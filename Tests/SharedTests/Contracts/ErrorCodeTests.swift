import GatehouseServiceContracts
import Testing

@Suite struct ErrorCodeTests {
    @Test("A code that a repetition may help: it has Retry-After")
    func retryAfter() {
        for code in ErrorCode.allCases {
            let retries = code == .rateLimited || code == .unavailable
            #expect((Problem(code).retryAfter != nil) == retries)
        }
        #expect(Problem(.rateLimited, retryAfter: 30).retryAfter == 30)
    }

    /// RFC 6750 §3, RFC 9470 §3.
    @Test func problemsWithABearerSayWhichOneWouldDo() {
        for code in ErrorCode.allCases {
            let isOfBearer = [.invalidToken, .tokenExpired, .reauthenticationRequired].contains(code)
            #expect((Problem(code).bearerChallenge != nil) == isOfBearer, "\(code)")
        }
        let challenge = Problem.reauthenticationRequired(maximumAge: 600).bearerChallenge
        #expect(
            challenge
                == #"Bearer error="insufficient_user_authentication", "#
                + #"error_description="A more recent proof is needed", max_age="600""#)
    }

    @Test func documentsReadBack() {
        let problem = Problem.invalid("a", "b")
        #expect(ProblemDocument(problem, requestID: "r").problem == problem)
        var unknown = ProblemDocument(problem, requestID: "r")
        unknown.code = "SOMETHING_NEW"
        #expect(unknown.problem == nil)
    }

    // MARK: - OAuth

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
