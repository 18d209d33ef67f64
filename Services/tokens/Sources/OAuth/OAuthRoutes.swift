import Foundation
import GatehouseBytes
import GatehouseObservability
import GatehouseServiceContracts
import GatehouseServiceKit
import HTTPTypes
import Hummingbird
import Logging

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
        let client = try Refresher.Client(context)
        let form = try await Form(of: request, for: clientID)
        guard let grantType = form["grant_type"] else { throw OAuthError.invalidRequest("grant_type is missing.") }
        guard grantType.isVerbatim("refresh_token") else { throw OAuthError.unsupportedGrantType }
        guard let token = form["refresh_token"] else { throw OAuthError.invalidRequest("refresh_token is missing.") }
        guard form["scope"] == nil else { throw OAuthError.invalidScope }
        return .tokens(try await refresher.refresh(token, from: client).oauthJSON)
    }

    private func revoke(_ request: Request, _ context: GatehouseRequestContext) async throws -> Response {
        guard let token = try await Form(of: request, for: clientID)["token"] else {
            throw OAuthError.invalidRequest("token is missing.")
        }
        try await revoker.revoke(token, from: context.ipAddress)
        return .empty(.ok)
    }

    private struct Form {
        let parameters: FormParameters

        /// - Throws: `invalid_client` when the form names another client.
        init(of request: Request, for clientID: String) async throws {
            parameters = try await request.decodeForm()
            guard self["client_id"].map({ $0.isVerbatim(clientID) }) ?? true else {
                throw OAuthError.invalidClient
            }
        }

        /// An empty parameter counts as absent (RFC 6749 §3.2).
        subscript(name: String) -> String? { parameters[name].flatMap { $0.isEmpty ? nil : $0 } }
    }
}

extension OAuthError {
    static func invalidRequest(_ description: String) -> OAuthError {
        OAuthError(code: "invalid_request", description: description)
    }

    static let invalidClient = OAuthError(code: "invalid_client", description: "The client is not known here.")
    static let invalidScope = OAuthError(code: "invalid_scope", description: "There are no scopes.")
    static let unsupportedGrantType = OAuthError(
        code: "unsupported_grant_type", description: "Only refresh_token is supported.")

    func response() throws -> Response {
        var response = try Response.json(
            ["error": code, "error_description": description], status: .init(code: status), holdsToken: true)
        if let retryAfter { response.headers[.retryAfter] = String(retryAfter) }
        return response
    }

    /// The response of `work`, or its error in OAuth's format.
    static func answering(
        _ context: GatehouseRequestContext, _ work: () async throws -> Response
    ) async throws -> Response {
        do {
            return try await work()
        } catch let error as OAuthError {
            return try error.response()
        } catch {
            let problem = Problem(for: error)
            if problem.code == .internal { context.logger.error("unforeseen error", .error(error)) }
            return try OAuthError(problem).response()
        }
    }
}

/// The name and secret of a client that authenticates by Basic (RFC 7617), each form-encoded first (RFC 6749 §2.3.1).
struct BasicCredential: Sendable, Equatable {
    var name: String
    var secret: String

    init?(_ authorization: String?) {
        guard let parts = authorization?.split(separator: " ", maxSplits: 1), parts.count == 2,
            parts[0].lowercased() == "basic",
            let pair = Data(base64Encoded: parts[1].trimmingCharacters(in: .whitespaces)),
            let text = String(validating: pair, as: UTF8.self), let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        guard let name = FormBody.decode(text[..<colon]),
            let secret = FormBody.decode(text[text.utf8.index(after: colon)...])
        else { return nil }
        self.name = name
        self.secret = secret
    }
}
