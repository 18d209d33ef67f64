public import AsyncHTTPClient
import Bytes
public import Contracts
import Foundation
public import Logging
import NIOCore
import NIOHTTP1
public import ServiceKit

/// Asks tokens about each access token (RFC 7662): it is refused from the moment at which its session has ended, at the
/// price of a call for each request.
public struct IntrospectionJudge: AccessTokenJudge {
    /// As in the other judge; also what tokens would not take for an access token.
    private static let longestToken = 8192
    private static let longestAnswer = 65_536

    private let configuration: AccessTokenConfiguration
    private let httpClient: HTTPClient
    private let logger: Logger
    private let authorization: String

    /// - Parameters:
    ///   - configuration: whose tokens are good, and where tokens is.
    ///   - httpClient: ``ServiceBoot/httpClient``.
    public init(_ configuration: AccessTokenConfiguration, httpClient: HTTPClient, logger: Logger) {
        self.configuration = configuration
        self.httpClient = httpClient
        self.logger = logger
        // Both form-encoded first (RFC 6749 §2.3.1); of the client id nothing changes.
        let secret = FormBody.encode([("", configuration.tokensCredential)]).dropFirst()
        authorization = "Basic " + Data("introspection:\(secret)".utf8).base64EncodedString()
    }

    public func user(of token: String, before deadline: Deadline) async throws(Problem) -> ForwardedUser {
        // Without any, tokens would find fault with the request.
        guard (1...Self.longestToken).contains(token.utf8.count) else { throw Problem(.invalidToken) }
        let answer = try await ask(about: token, before: deadline.capped(at: configuration.patience))
        guard answer.active, answer.use == "access_token" else { throw Problem(.invalidToken) }
        guard let issuer = answer.issuer, let audience = answer.audience, let subject = answer.subject,
            let session = answer.sessionID
        else { throw unavailable("an answer without iss, aud, sub or sid") }
        guard issuer.isVerbatim(configuration.issuer), audience.isVerbatim(configuration.audience) else {
            throw Problem(.invalidToken)
        }
        return ForwardedUser(
            id: subject, sessionID: session, role: answer.role ?? "", storeIDs: answer.storeIDs ?? [])
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
        }

        var active: Bool
        var use: String?
        var issuer: String?
        var audience: String?
        var subject: UUID?
        var sessionID: UUID?
        var role: String?
        var storeIDs: [String]?
    }

    private func ask(about token: String, before deadline: Deadline) async throws(Problem) -> Answer {
        guard let address = configuration.tokensURLs.randomElement() else { throw unavailable("no address") }
        var request = HTTPClientRequest(url: address.appending(path: "internal/oauth/introspect").absoluteString)
        request.method = .POST
        request.headers = [
            "Authorization": authorization, "Content-Type": "application/x-www-form-urlencoded",
            HeaderName.deadline: String(deadline.milliseconds),
        ]
        request.body = .bytes(ByteBuffer(string: FormBody.encode([("token", token)])))
        let answer: WholeAnswer
        do {
            answer = try await httpClient.exchange(request, upTo: Self.longestAnswer, before: deadline)
        } catch {
            throw unavailable("\(error)")
        }
        guard answer.status == 200 else { throw unavailable("status \(answer.status)") }
        do {
            return try StrictJSON.decode(Answer.self, from: Array(buffer: answer.body))
        } catch {
            throw unavailable("an answer that cannot be read")
        }
    }

    private func unavailable(_ reason: String) -> Problem {
        logger.warning("tokens could not be asked about an access token", metadata: ["error": "\(reason)"])
        return Problem(.unavailable)
    }
}
