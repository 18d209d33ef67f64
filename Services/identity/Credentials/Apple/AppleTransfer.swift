import Foundation
import GatehouseServiceKit
import IdentityCore

/// Migrates the users of Sign in with Apple when the app moves to another team at Apple (TN3159), for the command line.
///
/// Both steps process the users page by page and store each user's result at once. An interrupted run is repeated, and
/// continues with the remaining users.
package struct AppleTransfer: Sendable {
    let store: AppleTransferStore
    let apple: AppleServer
    let secret: AppleClientSecret
    /// Pauses before the retries of a request.
    var pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(4), .seconds(8)]

    /// Users that are read at once.
    static let page = 500
    /// Concurrent requests.
    static let width = 8
    /// Seconds for which the token must still be valid when a page begins.
    private static let margin = 1800.0
    /// Seconds for which a token of Apple is used at most, whatever Apple says of its lifetime.
    private static let longestUse = 86_400.0

    /// Before the transfer: fetches each user's transfer identifier for the new team from Apple, and stores it.
    /// - Parameters:
    ///   - team: the id of the team that will receive the app.
    ///   - progress: is called after each page.
    package func prepare(
        to team: String, progress: (AppleTransferSummary) -> Void = { _ in }
    ) async throws -> AppleTransferSummary {
        guard team.utf8.count == 10, team.utf8.allSatisfy({ (48...57).contains($0) || (65...90).contains($0) }) else {
            throw CommandFailure(description: "\(team) is no team id of Apple's: ten capital letters and digits.")
        }
        guard !team.utf8.elementsEqual(secret.teamID.utf8) else {
            throw CommandFailure(
                description: "\(team) is the team that IDENTITY_APPLE_TEAM_ID names, whose users are there.")
        }
        return try await run(progress) { last in
            try await store.unprepared(for: team, after: last, limit: Self.page)
        } fetch: { user, token in
            let name = try await apple.transferSubject(
                of: user.name, to: team, clientID: user.clientID, secret: secret, token: token)
            guard let name else { return .unknownToApple }
            try await store.keep(name, of: user, to: team)
            return .done
        }
    }

    /// After the transfer, with the new team's key: fetches each user's new subject and private relay address from
    /// Apple.
    package func finish(
        progress: (AppleTransferSummary) -> Void = { _ in }
    ) async throws -> AppleTransferSummary {
        try await run(progress) { last in
            try await store.prepared(for: secret.teamID, after: last, limit: Self.page)
        } fetch: { user, token in
            let arrival = try await apple.arrival(
                of: user.name, clientID: user.clientID, secret: secret, token: token)
            guard let arrival else { return .unknownToApple }
            return try await store.arrive(
                user.userID, transferSubject: user.name, as: arrival.subject,
                email: arrival.email.flatMap { try? EmailAddress($0) })
        }
    }

    private typealias TransferringUser = AppleTransferStore.TransferringUser

    private func run(
        _ progress: (AppleTransferSummary) -> Void, page: (TransferringUser?) async throws -> [TransferringUser],
        fetch: @escaping @Sendable (TransferringUser, String) async throws -> AppleTransferSummary.Outcome
    ) async throws -> AppleTransferSummary {
        var summary = AppleTransferSummary()
        var tokens: [String: (text: String, expiresAt: Date)] = [:]
        var last: TransferringUser?
        do {
            while true {
                let users = try await page(last)
                guard !users.isEmpty else { return summary }
                for clientID in Set(users.map(\.clientID))
                where tokens[clientID].map({ $0.expiresAt < .now + Self.margin }) ?? true {
                    let token = try await retrying {
                        try await apple.migrationToken(clientID: clientID, secret: secret)
                    }
                    tokens[clientID] = (token.accessToken, .now + min(token.expiresIn, Self.longestUse))
                }
                let texts = tokens.mapValues(\.text)
                try await forEach(users) { user in
                    try await retrying { try await fetch(user, texts[user.clientID] ?? "") }
                } then: {
                    summary.count($0)
                }
                last = users.last
                progress(summary)
            }
        } catch {
            throw CommandFailure(
                description:
                    "After \(summary.asked) users: \(error). Completed users are stored. Run the command again.")
        }
    }

    /// Runs `body` for a few users at a time.
    private func forEach<Value: Sendable>(
        _ users: [TransferringUser], _ body: @escaping @Sendable (TransferringUser) async throws -> Value,
        then: (Value) -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Value.self) { group in
            for (index, user) in users.enumerated() {
                if index >= Self.width, let value = try await group.next() { then(value) }
                group.addTask { try await body(user) }
            }
            for try await value in group { then(value) }
        }
    }

    /// Retries while Apple is unavailable or busy.
    private func retrying<Value>(_ body: () async throws -> Value) async throws -> Value {
        for pause in pauses {
            do {
                return try await body()
            } catch let error as AppleServer.UnexpectedAnswer where error.status < 500 && error.status != 429 {
                throw error
            } catch {
                try await Task.sleep(for: pause)
            }
        }
        return try await body()
    }
}

/// Apple's endpoints for moving an app to another team (TN3159).
extension AppleServer {
    /// Authenticates a team's requests about its users.
    struct MigrationToken: Sendable, Decodable {
        var accessToken: String
        /// Seconds.
        var expiresIn: Double

        enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case expiresIn = "expires_in"
        }
    }

    /// The user's data at the new team.
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
                ("client_secret", try secret.make(clientID: clientID, now: .now)),
            ], timeout: exchangeTimeout)
        guard status == 200 else { throw UnexpectedAnswer(status: status, error: Self.error(in: body)) }
        return try StrictJSON.decode(MigrationToken.self, from: Array(body))
    }

    /// `POST /auth/usermigrationinfo` by the team that transfers the app.
    /// - Returns: `nil` for a user unknown to Apple.
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

    /// `POST /auth/usermigrationinfo` by the team that has received the app.
    /// - Returns: `nil` for a user unknown to Apple.
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
                ("client_id", clientID), ("client_secret", try secret.make(clientID: clientID, now: .now)),
            ], bearer: token, timeout: timeout)
        if status == 400, Self.error(in: body) == "invalid_request" { return nil }
        guard status == 200 else { throw UnexpectedAnswer(status: status, error: Self.error(in: body)) }
        return try StrictJSON.decode(Answer.self, from: Array(body))
    }
}

/// The result of a run of a transfer command.
package struct AppleTransferSummary: Sendable, Equatable, Encodable {
    /// Users that were sent to Apple.
    package var asked = 0
    /// Before the transfer: users whose transfer identifier is now stored. After it: users who have their new subject.
    package var done = 0
    /// Users unknown to Apple, because they have withdrawn their consent.
    package var unknownToApple = 0
    /// Users whose new subject already belongs to another account here, after a sign-in without the transfer
    /// identifier.
    var taken = 0

    /// The result for one user.
    enum Outcome: Sendable, Equatable {
        case done, unknownToApple, taken
    }

    mutating func count(_ outcome: Outcome) {
        asked += 1
        switch outcome {
        case .done: done += 1
        case .unknownToApple: unknownToApple += 1
        case .taken: taken += 1
        }
    }
}
