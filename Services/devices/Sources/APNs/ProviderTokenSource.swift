import Crypto
import Foundation
import Synchronization

/// The provider token of one team and key, which all connections with the key share. Safe to use from any thread.
final class ProviderTokenSource: Sendable {
    private struct State {
        var newest: ProviderToken?
        var forcedAt: Date?
    }

    private let team: String
    private let keyID: String
    private let key: P256.Signing.PrivateKey
    private let state = Mutex(State())

    init(_ key: APNsKey) {
        team = key.team
        keyID = key.keyID
        self.key = key.privateKey
    }

    /// The newest token, signed anew if it is due.
    func newest(isNewConnection: Bool, now: Date) throws -> ProviderToken {
        try state.withLock { state in
            let age = state.newest?.age(at: now)
            if let newest = state.newest, !ProviderTokenRules.mustSign(age: age, isNewConnection: isNewConnection) {
                return newest
            }
            return try sign(&state, now: now)
        }
    }

    /// The token that replaces one that APNs has refused as expired; `nil` if a new one would be no better.
    func replacement(of refused: ProviderToken, now: Date) throws -> ProviderToken? {
        try state.withLock { state in
            guard let newest = state.newest, newest.isSame(as: refused) else { return state.newest }
            let sinceForced = state.forcedAt.map { now.timeIntervalSince($0) }
            guard ProviderTokenRules.mayReplaceRefused(age: refused.age(at: now), sinceForced: sinceForced) else {
                return nil
            }
            state.forcedAt = now
            return try sign(&state, now: now)
        }
    }

    private func sign(_ state: inout State, now: Date) throws -> ProviderToken {
        let token = try ProviderToken.sign(team: team, keyID: keyID, key: key, issuedAt: now)
        state.newest = token
        return token
    }
}
