import Contracts
import Foundation
import Postgres

/// Ends a session by any genuine refresh token of it, old ones too (logout, RFC 7009).
struct TokenRevoker: Sendable {
    let keys: RefreshKeyRing
    let store: SessionStore

    /// A token that is unknown, forged or of a session that has ended changes nothing.
    func revoke(_ text: String, deadline: ContinuousClock.Instant) async throws(PostgresError) {
        guard let token = RefreshToken(text: text) else { return }
        switch token.authenticity(under: keys) {
        case .genuine: try await store.revoke(token.sessionID, reason: .logout, deadline: deadline)
        case .unknownKey:
            try await store.revoke(token.sessionID, holding: token.hash, reason: .logout, deadline: deadline)
        case .forged: return
        }
    }
}
