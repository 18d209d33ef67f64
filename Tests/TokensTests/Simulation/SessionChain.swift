import Foundation

@testable import TokensService

/// What a server says to a refresh token.
enum ChainAnswer {
    /// This token from now on.
    case token(Int32)
    case tryLater
    /// The session has ended.
    case revoked
}

/// One session's tokens under a set of rules. The token of the sign-in is 0; times are seconds.
protocol SessionChain {
    init()
    mutating func present(_ token: Int32, at now: Int) -> ChainAnswer
}

/// Gatehouse's own rules, as the service runs them. There is one chain, so a token is its generation.
struct GatehouseChain: SessionChain {
    private let rules = RotationRules()
    private let idleLifetime = SessionStore.Lifetimes().idle
    private var state = RotationState(
        generation: 0, currentHash: hash(of: 0), previousHash: nil, rotatedAt: .distantPast, lateReplays: 0,
        lateReplayed: false, expiresAt: .distantFuture, absoluteExpiresAt: .distantFuture)
    private var isRevoked = false

    mutating func present(_ token: Int32, at now: Int) -> ChainAnswer {
        guard !isRevoked else { return .revoked }
        let now = Date(timeIntervalSince1970: TimeInterval(now))
        let presented = RotationRules.Presented(generation: token, hash: Self.hash(of: token), isGenuine: true)
        switch rules.decide(on: presented, of: state, at: now) {
        case .rotate:
            state = state.rotated(to: Self.hash(of: token + 1), at: now, idleLifetime: idleLifetime)
        case .repeatSuccessor: break
        case .countLateReplay: state = state.countingLateReplay()
        case .tryLater: return .tryLater
        case .revoke, .refuse:
            isRevoked = true
            return .revoked
        }
        return .token(state.generation)
    }

    private static func hash(of token: Int32) -> [UInt8] { withUnsafeBytes(of: token) { Array($0) } }
}

/// RFC 9700 §4.14.2 without any grace: a token is good once, and a second use ends the session.
struct StrictChain: SessionChain {
    private var active: Int32? = 0

    mutating func present(_ token: Int32, at now: Int) -> ChainAnswer {
        guard let active, token == active else {
            self.active = nil
            return .revoked
        }
        self.active = active + 1
        return .token(active + 1)
    }
}
