import Contracts
import HTTPTypes
import Hummingbird
import Logging
import Observability
import ServiceKit

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

    /// The answer of `work`, or its refusal in the standard's form.
    static func answering(
        _ context: GatehouseRequestContext, _ work: () async throws -> Response
    ) async throws -> Response {
        do {
            return try await work()
        } catch let error as OAuthError {
            return try error.response()
        } catch {
            let problem = Problem(toldOf: error)
            if problem.code == .internal { context.logger.error("unforeseen error", .error(error)) }
            return try OAuthError(problem).response()
        }
    }
}
