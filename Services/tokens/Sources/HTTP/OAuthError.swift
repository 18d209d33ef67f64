import Contracts
import HTTPTypes
import Hummingbird
import Logging
import ServiceKit

/// A refusal in the form of RFC 6749 §5.2.
struct OAuthError: Error, Sendable {
    let code: String
    let description: String
    var status = HTTPResponse.Status.badRequest
    /// Seconds.
    var retryAfter: Int?
    /// What a caller that is not known has to show (`WWW-Authenticate`).
    var challenge: String?

    static func invalidRequest(_ description: String) -> OAuthError {
        OAuthError(code: "invalid_request", description: description)
    }

    static let invalidClient = OAuthError(code: "invalid_client", description: "The client is not known here.")
    static let invalidScope = OAuthError(code: "invalid_scope", description: "There are no scopes.")
    static let unsupportedGrantType = OAuthError(
        code: "unsupported_grant_type", description: "Only refresh_token is supported.")

    /// RFC 7662 §2.3.
    static let unknownCaller = OAuthError(
        code: "invalid_client", description: "The caller is not known here.", status: .unauthorized,
        challenge: #"Basic realm="introspection", charset="UTF-8""#)

    init(
        code: String, description: String, status: HTTPResponse.Status = .badRequest, retryAfter: Int? = nil,
        challenge: String? = nil
    ) {
        self.code = code
        self.description = description
        self.status = status
        self.retryAfter = retryAfter
        self.challenge = challenge
    }

    /// An outage is never `invalid_grant`: a client would sign its user out.
    init(_ problem: Problem) {
        switch problem.code {
        case .invalidRefreshToken:
            self.init(code: "invalid_grant", description: problem.detail)
        case .unavailable, .timeout, .internal, .badGateway, .rateLimited:
            self.init(
                code: "temporarily_unavailable", description: problem.detail,
                status: problem.code == .rateLimited ? .tooManyRequests : .serviceUnavailable,
                retryAfter: problem.retryAfter ?? 1)
        case .payloadTooLarge:
            self.init(code: "invalid_request", description: problem.detail, status: .contentTooLarge)
        default:
            self.init(code: "invalid_request", description: problem.detail)
        }
    }

    func response() throws -> Response {
        var response = try Response.json(
            ["error": code, "error_description": description], status: status, holdsToken: true)
        if let retryAfter { response.headers[.retryAfter] = String(retryAfter) }
        if let challenge { response.headers[.wwwAuthenticate] = challenge }
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
        } catch let error as any ProblemConvertible {
            if error.problem.code == .internal { context.logger.error("unforeseen error", .error(error)) }
            return try OAuthError(error.problem).response()
        }
    }
}
