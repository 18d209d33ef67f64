import Testing

@testable import GatehouseClient

@Suite("The challenge in WWW-Authenticate") struct BearerChallengeTests {
    @Test(
        "A bearer, among others or alone",
        arguments: [
            "Bearer", "bearer", " BEARER ", #"Bearer realm="gatehouse", error="invalid_token""#,
            #"Basic realm="a, b", Bearer"#, #"Basic realm="a \", b", Bearer error="invalid_token""#,
            "Negotiate,\tBearer",
            "Bearer dG9rZW4=", "Digest qop=\"auth\",Bearer realm=\"x\"",
        ])
    func present(field: String) { #expect(BearerChallenge.isPresent(in: field)) }

    @Test(
        "Something else",
        arguments: [
            "", ",", "Basic", "Bearers", #"Basic realm="Bearer""#, #"Basic realm="a, Bearer""#,
            #"Basic realm="a \", Bearer""#, "Digest bearer = x", "Digest a=b, bearer =x",
        ])
    func absent(field: String) { #expect(!BearerChallenge.isPresent(in: field)) }
}
