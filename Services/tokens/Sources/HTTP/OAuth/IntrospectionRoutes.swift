import Bytes
import Contracts
import HTTPTypes
import Hummingbird
import ServiceKit

/// Introspection (RFC 7662), for a team's own services and tools: those that cannot verify an access token themselves,
/// or have to know whether its session still lives.
///
/// The path begins with `/internal`, which the gateway does not pass on. Callers show a credential of its own by Basic,
/// as OAuth libraries do.
struct IntrospectionRoutes: Sendable {
    /// The client id that callers show; the secret is one of `TOKENS_INTROSPECTION_CREDENTIALS`.
    static let caller = "introspection"
    private static let challenge = #"Basic realm="introspection", charset="UTF-8""#
    /// RFC 7662 §2.3.
    private static let unknownCaller = OAuthError(
        code: "invalid_client", description: "The caller is not known here.", status: 401)

    let introspector: Introspector
    let credentials: CallerCredentials

    func add(to router: ServiceRouter) {
        router.post("/internal/oauth/introspect") { request, context in
            var response = try await OAuthError.answering(context) { try await introspect(request, context) }
            if response.status == .unauthorized { response.headers[.wwwAuthenticate] = Self.challenge }
            return response
        }
    }

    private func introspect(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        guard let shown = BasicCredential(request.headers[.authorization]), shown.name.isVerbatim(Self.caller),
            credentials.caller(showing: shown.secret) == Self.caller
        else { throw Self.unknownCaller }
        let deadline = try context.workDeadline()
        guard let token = try await request.decodeForm()["token"], !token.isEmpty else {
            throw OAuthError.invalidRequest("token is missing.")
        }
        guard let introspection = try await introspector.introspect(token, deadline: deadline) else {
            return try .json(["active": false], holdsToken: true)
        }
        return try .json(introspection, holdsToken: true)
    }
}
