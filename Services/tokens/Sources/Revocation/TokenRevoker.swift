import AccessToken
import Contracts
import Foundation

/// Ends a session by any genuine refresh token of it, old ones too, or by an access token that is still good (logout,
/// RFC 7009).
struct TokenRevoker: Sendable {
    let keys: RefreshKeyRing
    let accessTokens: AccessTokenReader
    let store: SessionStore
    let unknownKeyLimit: UnknownKeyLimit?

    /// Does nothing for a token that is unknown or forged, or whose session has ended.
    ///
    /// - Parameter address: the client's.
    /// - Throws: `Problem`, `PostgresError`
    func revoke(_ text: String, from address: String?, deadline: ContinuousClock.Instant) async throws {
        guard let token = RefreshToken(text: text) else {
            return try await revoke(accessToken: text, deadline: deadline)
        }
        switch token.authenticity(under: keys) {
        case .genuine: try await store.revoke(token.sessionID, reason: .logout, deadline: deadline)
        case .unknownKey:
            try unknownKeyLimit?.take(from: address)
            let wasThere = try await store.revoke(
                token.sessionID, holding: token.hash, reason: .logout, deadline: deadline)
            if wasThere { unknownKeyLimit?.giveBack(to: address) }
        case .forged: return
        }
    }

    /// An access token is valid for as long as its session lives, so revoking it ends the session.
    private func revoke(accessToken text: String, deadline: ContinuousClock.Instant) async throws {
        guard let claims = try accessTokens.genuineClaims(of: text),
            let session = try await store.read(claims.sessionID, deadline: deadline),
            claims.isLive(in: session)
        else { return }
        try await store.revoke(claims.sessionID, of: claims.subject, reason: .logout, deadline: deadline)
    }
}
