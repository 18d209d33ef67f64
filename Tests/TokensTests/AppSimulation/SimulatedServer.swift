import Foundation
import GatehouseServiceContracts
import Synchronization
import TestKit

/// Gatehouse's contract over given rules of rotation.
final class SimulatedServer: Sendable {
    struct Answer: Sendable {
        var status: Int
        var code: ErrorCode?
        var retryAfter: Int?
        var body: (any Encodable & Sendable)?
    }

    private struct ServerSession {
        var chain: any SessionChain
        /// Ended because the user asked for it.
        var isRevoked = false
        /// Ended by the rules, which took the app for a thief.
        var isLost = false
        var isOver: Bool { isRevoked || isLost }
    }

    private struct State {
        var sessions: [ServerSession] = []
        var isAway = false
        var isLimiting = false
        var random: SeededGenerator
    }

    private let state: Mutex<State>
    private let clock: SimulatedClock
    private let newChain: @Sendable () -> any SessionChain
    private let user = User(
        id: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)), email: "ada@example.com",
        role: "customer", authProviders: [.password], createdAt: SimulatedClock.start)

    /// - Parameter newChain: the rules, for a new session.
    init(clock: SimulatedClock, random: SeededGenerator, newChain: @escaping @Sendable () -> any SessionChain) {
        self.clock = clock
        self.newChain = newChain
        state = Mutex(State(random: random))
    }

    func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }
    func setLimiting(_ isLimiting: Bool) { state.withLock { $0.isLimiting = isLimiting } }

    /// Ends all sessions because the user asked for it.
    func revokeAll() {
        state.withLock { state in for index in state.sessions.indices { state.sessions[index].isRevoked = true } }
    }

    func answer(_ path: String, body: Data, bearer: String?) -> Answer {
        state.withLock { state in
            if state.isAway { return Answer(status: 503, code: .unavailable, retryAfter: 1) }
            switch path {
            case "/v1/auth/login":
                state.sessions.append(ServerSession(chain: newChain()))
                return issue(state.sessions.count - 1, token: 0, &state)
            case "/v1/auth/refresh":
                if state.isLimiting { return Answer(status: 429, code: .rateLimited, retryAfter: 30) }
                return refresh(body, &state)
            case "/v1/auth/logout":
                let token = (try? JSON.decode(LogoutRequest.self, from: body))?.refreshToken
                if let (index, _) = token.flatMap(Self.read) { state.sessions[index].isRevoked = true }
                return Answer(status: 204)
            default:
                guard let (index, expiry) = bearer.flatMap(Self.read), !state.sessions[index].isOver else {
                    return Answer(status: 401, code: .invalidToken)
                }
                guard clock.seconds < Double(expiry) else { return Answer(status: 401, code: .tokenExpired) }
                return Answer(status: 200, body: path == "/v1/auth/me" ? user : nil)
            }
        }
    }

    private func refresh(_ body: Data, _ state: inout State) -> Answer {
        let refused = Answer(status: 401, code: .invalidRefreshToken)
        guard let token = (try? JSON.decode(RefreshRequest.self, from: body))?.refreshToken,
            let (index, generation) = Self.read(token), !state.sessions[index].isOver
        else { return refused }
        switch state.sessions[index].chain.present(Int32(generation), at: Int(clock.seconds)) {
        case .token(let successor): return issue(index, token: successor, &state)
        case .tryLater: return Answer(status: 503, code: .unavailable, retryAfter: 1)
        case .revoked:
            state.sessions[index].isLost = true
            return refused
        }
    }

    private func issue(_ index: Int, token: Int32, _ state: inout State) -> Answer {
        // Each up to 5 % shorter.
        let lifetime = Int.random(in: 3420...3600, using: &state.random)
        let expiry = Int(clock.seconds) + lifetime
        let now = SimulatedClock.start.addingTimeInterval(clock.seconds.rounded(.down))
        return Answer(
            status: 200,
            body: AuthResponse(
                accessToken: "access.\(index).\(expiry)", refreshToken: "refresh.\(index).\(token)",
                expiresIn: lifetime, expiresAt: now.addingTimeInterval(Double(lifetime)), refreshExpiresIn: 2_592_000,
                refreshExpiresAt: now.addingTimeInterval(2_592_000), user: user))
    }

    /// `access.SESSION.EXPIRY`, `refresh.SESSION.GENERATION`
    private static func read(_ token: String) -> (session: Int, number: Int)? {
        let parts = token.split(separator: ".")
        guard parts.count == 3, let session = Int(parts[1]), let number = Int(parts[2]) else { return nil }
        return (session, number)
    }
}
