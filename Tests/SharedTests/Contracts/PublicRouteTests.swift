import Contracts
import Testing

@Suite struct PublicRouteTests {
    /// The table of the public contract.
    @Test func allRoutes() {
        let table = PublicRoute.all.map { "\($0.method) \($0.path) \($0.owner) \($0.bearer)" }
        #expect(
            Set(table) == [
                "POST /v1/auth/apple identity none", "POST /v1/auth/apple/nonce identity none",
                "POST /v1/auth/apple/notifications identity none", "POST /v1/auth/register identity none",
                "POST /v1/auth/code identity none", "POST /v1/auth/code/verify identity reported",
                "POST /v1/auth/login identity none", "POST /v1/auth/refresh tokens none",
                "POST /v1/auth/logout tokens reported", "POST /v1/auth/logout-all tokens required",
                "GET /v1/auth/me identity required", "PATCH /v1/auth/me identity required",
                "DELETE /v1/auth/account identity required", "GET /v1/auth/export identity required",
                "POST /v1/auth/password identity required", "POST /v1/auth/password/forgot identity none",
                "POST /v1/auth/password/reset identity none", "POST /v1/auth/identities/apple identity required",
                "POST /v1/auth/reauthenticate identity required", "POST /v1/auth/merge identity required",
                "PUT /v1/auth/identifiers/{kind} identity required",
                "DELETE /v1/auth/identifiers/{kind} identity required",
                "POST /v1/auth/identifiers/undo identity none",
                "DELETE /v1/auth/identities/{provider} identity required", "GET /v1/auth/sessions tokens required",
                "DELETE /v1/auth/sessions/{id} tokens required", "POST /v1/devices/register devices required",
                "GET /v1/devices devices required", "DELETE /v1/devices/{id} devices required",
                "POST /oauth/token tokens none", "POST /oauth/revoke tokens none",
                "GET /.well-known/jwks.json tokens none", "HEAD /.well-known/jwks.json tokens none",
                "GET /.well-known/oauth-authorization-server tokens none",
                "HEAD /.well-known/oauth-authorization-server tokens none",
                "GET /v1/admin/users identity required", "POST /v1/admin/users identity required",
                "GET /v1/admin/users/{id} identity required", "PATCH /v1/admin/users/{id} identity required",
                "DELETE /v1/admin/users/{id} identity required", "GET /v1/admin/audit identity required",
                "POST /v1/admin/users/{id}/disable identity required", "GET /v1/admin/figures identity required",
                "POST /v1/admin/users/{id}/enable identity required",
                "GET /v1/admin/users/{id}/sessions identity required",
                "DELETE /v1/admin/users/{id}/sessions identity required",
                "DELETE /v1/admin/users/{id}/sessions/{session} identity required",
                "GET /v1/admin/users/{id}/devices identity required",
                "GET /v1/admin/users/{id}/undelivered-pushes identity required",
                "POST /v1/admin/test-pushes identity required", "GET /v1/admin/test-pushes/{id} identity required",
                "PUT /v1/admin/users/{id}/identifiers/{kind} identity required",
                "DELETE /v1/admin/users/{id}/identifiers/{kind} identity required",
                "POST /v1/admin/users/{id}/identifiers/{kind}/move identity required",
                "GET /console identity none", "HEAD /console identity none",
                "GET /console/{file} identity none", "HEAD /console/{file} identity none",
            ])
        #expect(Set(table).count == table.count)
    }

    @Test func whatAdministersIsForOperatorsAlone() {
        let administration = PublicRoute.all.filter { $0.isForOperators }
        #expect(administration.map(\.path) == PublicRoute.all.map(\.path).filter { $0.contains("admin") })
        #expect(administration.count == 19 && administration.allSatisfy { $0.bearer == .required })
    }

    @Test func theGatewayGuardsTheRoutesThatHashOrCanBeGuessed() {
        func paths(_ guards: PublicRoute.Guards) -> [String] {
            PublicRoute.all.filter { $0.guards.contains(guards) }.map(\.path).sorted()
        }
        #expect(
            paths(.guesses) == [
                "/v1/auth/apple", "/v1/auth/code", "/v1/auth/code/verify", "/v1/auth/login",
                "/v1/auth/password/forgot", "/v1/auth/password/reset", "/v1/auth/register",
            ])
        #expect(
            paths(.hashes) == [
                "/v1/auth/login", "/v1/auth/password", "/v1/auth/password/reset", "/v1/auth/register",
            ])
        #expect(paths(.mayHash) == ["/v1/admin/users", "/v1/auth/merge", "/v1/auth/reauthenticate"])
        #expect(paths(.rejections) == ["/oauth/token", "/v1/auth/refresh"])
    }

    @Test func nothingInternalIsPublic() {
        #expect(PublicRoute.all.allSatisfy { !$0.path.contains("internal") })
    }
}
