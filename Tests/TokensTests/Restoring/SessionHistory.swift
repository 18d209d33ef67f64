import Foundation
import GatehouseServiceContracts
import Synchronization
import TestKit
import Testing

@testable import TokensService

/// Sessions, and what becomes of each before and after a copy of the database was made. Of every one it keeps each
/// token that was ever given out: its client has the last, a thief may have any.
final class SessionHistory: Sendable {
    private struct State {
        var users: [String: User] = [:]
        var tokens: [String: [String]] = [:]
    }

    private let state = Mutex(State())

    /// Every token, of all sessions.
    var tokens: [String] { state.withLock { $0.tokens.values.flatMap(\.self) } }

    let sessionsInTheCopy = 5

    func beforeTheCopy(_ service: RunningTokens) async throws {
        for name in ["quiet", "rotated", "signedOut", "signedOutEverywhere", "stolen"] {
            try await signIn(name, service)
            try await rotate(name, service)
        }
    }

    func afterTheCopy(_ service: RunningTokens) async throws {
        try await rotate("rotated", service)
        try await rotate("rotated", service)
        // The last token is one that the copy does not know.
        try await rotate("signedOut", service)
        #expect(try await logout("signedOut", service) == 204)
        let user = try #require(state.withLock { $0.users["signedOutEverywhere"] })
        let everywhere = try await service.client.post(
            "/internal/users/\(user.id)/revoke", json: RevokeSessionsRequest(reason: .passwordChanged),
            headers: RunningTokens.identity)
        #expect(everywhere.status == 204, "\(everywhere.text)")
        // A thief presents the first token, long after two rotations.
        try await rotate("stolen", service)
        try await service.age(by: 3600)
        let theft = try await service.refresh(try #require(state.withLock { $0.tokens["stolen"]?.first }))
        #expect(theft.code == "INVALID_REFRESH_TOKEN")
        try await signIn("late", service)
    }

    /// No token opens anything, whichever client presents it and in any order, and no user has a session.
    func expectAllEnded(in service: RunningTokens) async throws {
        for token in tokens.shuffled() + tokens.shuffled() {
            let answer = try await service.refresh(token)
            #expect(answer.status == 401 && answer.code == "INVALID_REFRESH_TOKEN", "\(answer.text)")
        }
        #expect(try await service.count("sessions") == 0)
    }

    private func signIn(_ name: String, _ service: RunningTokens) async throws {
        let user = User.sample()
        let session = try await service.signIn(user)
        state.withLock { state in
            state.users[name] = user
            state.tokens[name] = [session.auth.refreshToken]
        }
    }

    private func rotate(_ name: String, _ service: RunningTokens) async throws {
        let last = try #require(state.withLock { $0.tokens[name]?.last })
        let answer = try await service.refresh(last)
        try #require(answer.status == 200, "\(answer.text)")
        let successor = try answer.decode(AuthResponse.self).refreshToken
        state.withLock { $0.tokens[name]?.append(successor) }
    }

    private func logout(_ name: String, _ service: RunningTokens) async throws -> Int {
        let token = state.withLock { $0.tokens[name]?.last }
        return try await service.client.post("/v1/auth/logout", json: LogoutRequest(refreshToken: token)).status
    }
}
