import Foundation

/// Takes the users of Sign in with Apple along when the app changes teams at Apple (TN3159), for the command line.
///
/// Both steps go over the users page by page and keep each user's answer at once: a run that was cut off is repeated,
/// and goes on with those who are left.
public struct AppleTransfer: Sendable {
    let store: AppleTransferStore
    let apple: AppleServer
    let secret: AppleClientSecret
    /// Between the attempts at one question.
    var pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(4), .seconds(8)]

    /// Users that are read at once.
    static let page = 500
    /// Questions that are under way at the same time.
    static let width = 8
    /// Seconds that a token has to be good for when a page begins.
    private static let margin = 1800.0

    /// Why something was not done, in words for the operator.
    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    /// Before the transfer: asks Apple by which name each user goes to the other team, and keeps it.
    /// - Parameters:
    ///   - team: the id of the team that is going to have the app.
    ///   - progress: is called after each page.
    public func prepare(
        to team: String, progress: (AppleTransferSummary) -> Void = { _ in }
    ) async throws -> AppleTransferSummary {
        guard team.utf8.count == 10, team.utf8.allSatisfy({ (48...57).contains($0) || (65...90).contains($0) }) else {
            throw Failure(description: "\(team) is no team id of Apple's: ten capital letters and digits.")
        }
        guard !team.utf8.elementsEqual(secret.teamID.utf8) else {
            throw Failure(description: "\(team) is the team that IDENTITY_APPLE_TEAM_ID names, whose users are there.")
        }
        return try await run(progress) { last in
            try await store.unprepared(for: team, after: last, limit: Self.page)
        } ask: { user, token in
            let name = try await apple.transferSubject(
                of: user.name, to: team, clientID: user.clientID, secret: secret, token: token)
            guard let name else { return .unknownToApple }
            try await store.keep(name, of: user, to: team)
            return .done
        }
    }

    /// After the transfer, with the new team's key: asks Apple for each user's new subject and private relay address.
    public func finish(
        progress: (AppleTransferSummary) -> Void = { _ in }
    ) async throws -> AppleTransferSummary {
        try await run(progress) { last in
            try await store.prepared(for: secret.teamID, after: last, limit: Self.page)
        } ask: { user, token in
            let arrival = try await apple.arrival(
                of: user.name, clientID: user.clientID, secret: secret, token: token)
            guard let arrival else { return .unknownToApple }
            return try await store.arrive(
                user.userID, transferSubject: user.name, as: arrival.subject,
                email: arrival.email.flatMap { try? EmailAddress($0) })
        }
    }

    private typealias Traveller = AppleTransferStore.Traveller

    private func run(
        _ progress: (AppleTransferSummary) -> Void, page: (Traveller?) async throws -> [Traveller],
        ask: @escaping @Sendable (Traveller, String) async throws -> AppleTransferSummary.Outcome
    ) async throws -> AppleTransferSummary {
        var summary = AppleTransferSummary()
        var tokens: [String: (text: String, expiresAt: Date)] = [:]
        var last: Traveller?
        do {
            while true {
                let users = try await page(last)
                guard !users.isEmpty else { return summary }
                for clientID in Set(users.map(\.clientID))
                where tokens[clientID].map({ $0.expiresAt < .now + Self.margin }) ?? true {
                    let token = try await persistently {
                        try await apple.migrationToken(clientID: clientID, secret: secret)
                    }
                    tokens[clientID] = (token.accessToken, .now + token.expiresIn)
                }
                let texts = tokens.mapValues(\.text)
                try await forEach(users) { user in
                    try await persistently { try await ask(user, texts[user.clientID] ?? "") }
                } then: {
                    summary.count($0)
                }
                last = users.last
                progress(summary)
            }
        } catch {
            throw Failure(
                description: "After \(summary.asked) users: \(error). What was done is kept. Run the command again.")
        }
    }

    /// A few at a time.
    private func forEach<Value: Sendable>(
        _ users: [Traveller], _ body: @escaping @Sendable (Traveller) async throws -> Value,
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

    /// Tries again where Apple is away or busy.
    private func persistently<Value>(_ body: () async throws -> Value) async throws -> Value {
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
