public import AsyncHTTPClient
import Bytes
public import Contracts
import Foundation
public import Logging
public import ServiceKit

/// Asks tokens about each access token (RFC 7662): it is refused from the moment at which its session has ended, at the
/// price of a call for each request.
///
/// tokens does not say why a token is good no more (RFC 7662 §2.2): an expired one is `INVALID_TOKEN`, too.
public struct IntrospectionJudge: AccessTokenJudge {
    /// As in the other judge; also what tokens would not take for an access token.
    private static let longestToken = 8192

    private let configuration: AccessTokenConfiguration
    private let tokens: ServiceClient
    private let logger: Logger
    private let authorization: String

    /// - Parameters:
    ///   - configuration: whose tokens are good, and where tokens is.
    ///   - httpClient: ``ServiceBoot/httpClient``.
    public init(_ configuration: AccessTokenConfiguration, httpClient: HTTPClient, logger: Logger) {
        self.configuration = configuration
        tokens = configuration.tokens(httpClient)
        self.logger = logger
        // Both form-encoded first (RFC 6749 §2.3.1); of the client id nothing changes.
        let secret = FormBody.encode([("", configuration.tokensCredential)]).dropFirst()
        authorization = "Basic " + Data("introspection:\(secret)".utf8).base64EncodedString()
    }

    public func user(of token: String, before deadline: Deadline) async throws(Problem) -> ForwardedUser {
        // Without any, tokens would find fault with the request.
        guard (1...Self.longestToken).contains(token.utf8.count) else { throw Problem(.invalidToken) }
        let answer = try await ask(about: token, before: deadline)
        guard answer.active, answer.use == "access_token" else { throw Problem(.invalidToken) }
        guard let issuer = answer.issuer, let audience = answer.audience, let subject = answer.subject,
            let session = answer.sessionID
        else { throw unavailable("an answer without iss, aud, sub or sid") }
        guard issuer.isVerbatim(configuration.issuer), audience.isVerbatim(configuration.audience) else {
            throw Problem(.invalidToken)
        }
        return ForwardedUser(
            id: subject, sessionID: session, role: answer.role ?? "", storeIDs: answer.storeIDs ?? [],
            authenticatedAt: answer.authenticationTime.map { Date(timeIntervalSince1970: TimeInterval($0)) },
            authenticationMethods: answer.authenticationMethods ?? [])
    }

    /// What is read of RFC 7662 §2.2 and of Gatehouse's own members.
    private struct Answer: Decodable {
        private enum CodingKeys: String, CodingKey {
            case active
            case use = "token_use"
            case issuer = "iss"
            case audience = "aud"
            case subject = "sub"
            case sessionID = "sid"
            case role
            case storeIDs = "store_ids"
            case authenticationTime = "auth_time"
            case authenticationMethods = "amr"
        }

        var active: Bool
        var use: String?
        var issuer: String?
        var audience: String?
        var subject: UUID?
        var sessionID: UUID?
        var role: String?
        var storeIDs: [String]?
        var authenticationTime: Int64?
        var authenticationMethods: [AuthenticationMethod]?
    }

    /// Asking changes nothing, so that it may be repeated at another replica.
    private func ask(about token: String, before deadline: Deadline) async throws(Problem) -> Answer {
        do {
            return try await tokens.post(
                form: [("token", token)], to: "/internal/oauth/introspect", authorization: authorization,
                deadline: deadline, idempotent: true)
        } catch {
            throw unavailable("\(error)")
        }
    }

    private func unavailable(_ reason: String) -> Problem {
        logger.warning("tokens could not be asked about an access token", metadata: ["error": "\(reason)"])
        return Problem(.unavailable)
    }
}
