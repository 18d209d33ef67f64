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

/// One session's tokens under somebody's rules. The token of the sign-in is 0; times are seconds.
protocol SessionChain {
    init()
    mutating func present(_ token: Int32, at now: Int) -> ChainAnswer
}

/// Gatehouse's own rules, as the service runs them. There is one chain, so a token is its generation.
struct GatehouseChain: SessionChain {
    private let rules = RotationRules()
    private let idleLifetime = SessionStore.Lifetimes().idle
    private var state = SessionState(
        generation: 0, currentHash: hash(of: 0), previousHash: nil, rotatedAt: .distantPast, lateReplays: 0,
        lateReplayed: false, expiresAt: .distantFuture, absoluteExpiresAt: .distantFuture)
    private var isRevoked = false

    mutating func present(_ token: Int32, at now: Int) -> ChainAnswer {
        let now = Date(timeIntervalSince1970: TimeInterval(now))
        let presented = RotationRules.Presented(generation: token, hash: Self.hash(of: token), isGenuine: true)
        switch rules.decide(on: presented, of: isRevoked ? nil : state, at: now) {
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

/// Auth0, "Configure Refresh Token Rotation" (auth0.com/docs/secure/tokens/refresh-tokens): within the overlap period
/// the token before the current one, and no older one, is exchanged for a new token; any other use of a used token
/// revokes the family. The period is 0 unless set; here it is as long as Gatehouse's retry window.
struct Auth0Chain: SessionChain {
    private static let overlap = 60
    private var current: Int32? = 0
    private var previous: (token: Int32, usedAt: Int)?

    mutating func present(_ token: Int32, at now: Int) -> ChainAnswer {
        guard let current else { return .revoked }
        if token == current {
            previous = (token, now)
        } else {
            guard let previous, previous.token == token, now - previous.usedAt <= Self.overlap else {
                self.current = nil
                return .revoked
            }
        }
        self.current = current + 1
        return .token(current + 1)
    }
}

/// Supabase, "User sessions" (supabase.com/docs/guides/auth/sessions) and what supabase/auth does in
/// internal/tokens/service.go: the parent of the active token is always answered with the active one, and so is any
/// older one within 10 seconds of a refresh. Anything else ends the session.
struct SupabaseChain: SessionChain {
    private static let reuseInterval = 10
    private var active: Int32? = 0
    private var refreshedAt = 0

    mutating func present(_ token: Int32, at now: Int) -> ChainAnswer {
        guard let active else { return .revoked }
        guard token >= active - 1 || abs(now - refreshedAt) < Self.reuseInterval else {
            self.active = nil
            return .revoked
        }
        refreshedAt = now
        guard token == active else { return .token(active) }
        self.active = active + 1
        return .token(active + 1)
    }
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
