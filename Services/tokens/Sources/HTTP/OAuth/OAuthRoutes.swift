import Bytes
import Contracts
import Hummingbird
import ServiceKit

/// OAuth's endpoints, for stock libraries: RFC 6749 §6, RFC 7009. Apps are public clients: there is no client secret.
struct OAuthRoutes: Sendable {
    let refresher: Refresher
    let revoker: TokenRevoker
    let clientID: String

    func add(to router: ServiceRouter) {
        router.post("/oauth/token") { request, context in
            try await OAuthError.answering(context) { try await token(request, context) }
        }
        router.post("/oauth/revoke") { request, context in
            try await OAuthError.answering(context) { try await revoke(request, context) }
        }
    }

    private func token(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        let origin = try Refresher.Origin(context)
        let form = try await Form(of: request, for: clientID)
        guard let grantType = form["grant_type"] else { throw OAuthError.invalidRequest("grant_type is missing.") }
        guard grantType.isVerbatim("refresh_token") else { throw OAuthError.unsupportedGrantType }
        guard let token = form["refresh_token"] else { throw OAuthError.invalidRequest("refresh_token is missing.") }
        guard form["scope"] == nil else { throw OAuthError.invalidScope }
        return .tokens(try await refresher.refresh(token, from: origin).oauthJSON)
    }

    private func revoke(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        let deadline = try context.workDeadline()
        guard let token = try await Form(of: request, for: clientID)["token"] else {
            throw OAuthError.invalidRequest("token is missing.")
        }
        try await revoker.revoke(token, from: context.ipAddress, deadline: deadline)
        return .empty(.ok)
    }

    private struct Form {
        let parameters: FormParameters

        /// - Throws: `invalid_client` where another client is named.
        init(of request: Request, for clientID: String) async throws {
            parameters = try await request.decodeForm()
            guard self["client_id"].map({ $0.isVerbatim(clientID) }) ?? true else {
                throw OAuthError.invalidClient
            }
        }

        /// An empty parameter is as if absent (RFC 6749 §3.2).
        subscript(name: String) -> String? { parameters[name].flatMap { $0.isEmpty ? nil : $0 } }
    }
}
