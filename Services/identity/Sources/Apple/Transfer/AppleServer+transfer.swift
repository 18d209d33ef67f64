import Foundation
import ServiceKit

/// What Apple is asked when an app changes teams (TN3159).
extension AppleServer {
    /// With which a team asks about its users.
    struct MigrationToken: Sendable, Decodable {
        var accessToken: String
        /// Seconds.
        var expiresIn: Double

        enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case expiresIn = "expires_in"
        }
    }

    /// The user as the new team knows one.
    struct Arrival: Sendable, Decodable {
        var subject: String
        var email: String?

        enum CodingKeys: String, CodingKey {
            case subject = "sub"
            case email
        }
    }

    /// `POST /auth/token` with the team's own credentials.
    func migrationToken(clientID: String, secret: AppleClientSecret) async throws -> MigrationToken {
        let (status, body) = try await post(
            tokenURL,
            [
                ("grant_type", "client_credentials"), ("scope", "user.migration"), ("client_id", clientID),
                ("client_secret", try await secret.make(clientID: clientID, now: .now)),
            ], timeout: exchangeTimeout)
        guard status == 200 else { throw UnexpectedAnswer(status: status, error: Self.error(in: body)) }
        return try StrictJSON.decode(MigrationToken.self, from: Array(body))
    }

    /// `POST /auth/usermigrationinfo` by the team that gives the app away.
    /// - Returns: `nil` for a user whom Apple does not know.
    func transferSubject(
        of subject: String, to team: String, clientID: String, secret: AppleClientSecret, token: String
    ) async throws -> String? {
        struct Answer: Decodable {
            var transferSubject: String

            enum CodingKeys: String, CodingKey { case transferSubject = "transfer_sub" }
        }
        return try await migrationInfo(
            Answer.self, [("sub", subject), ("target", team)], clientID: clientID, secret: secret, token: token
        )?.transferSubject
    }

    /// `POST /auth/usermigrationinfo` by the team that has the app now.
    /// - Returns: `nil` for a user whom Apple does not know.
    func arrival(
        of transferSubject: String, clientID: String, secret: AppleClientSecret, token: String
    ) async throws -> Arrival? {
        try await migrationInfo(
            Arrival.self, [("transfer_sub", transferSubject)], clientID: clientID, secret: secret, token: token)
    }

    private func migrationInfo<Answer: Decodable>(
        _ type: Answer.Type, _ question: [(String, String)], clientID: String, secret: AppleClientSecret, token: String
    ) async throws -> Answer? {
        let (status, body) = try await post(
            migrationURL,
            question + [
                ("client_id", clientID), ("client_secret", try await secret.make(clientID: clientID, now: .now)),
            ], bearer: token, timeout: timeout)
        if status == 400, Self.error(in: body) == "invalid_request" { return nil }
        guard status == 200 else { throw UnexpectedAnswer(status: status, error: Self.error(in: body)) }
        return try StrictJSON.decode(Answer.self, from: Array(body))
    }
}
