import GatehouseServiceContracts
import Testing

@Suite struct PublicRouteTests {
    @Test("A route of the administration: it is for operators alone, and requires a bearer token")
    func administration() {
        let administration = PublicRoute.all.filter { $0.isForOperators }
        #expect(administration.map(\.path) == PublicRoute.all.map(\.path).filter { $0.contains("admin") })
        #expect(!administration.isEmpty && administration.allSatisfy { $0.bearer == .required })
    }

    @Test("A route that hashes passwords or accepts guesses: the gateway limits it")
    func guards() {
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

    @Test("A public route: its path is not an internal one")
    func internalPaths() {
        #expect(PublicRoute.all.allSatisfy { !$0.path.contains("internal") })
    }
}
