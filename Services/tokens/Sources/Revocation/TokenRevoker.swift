import Foundation
import GatehouseAccessTokens
import GatehouseServiceContracts

/// Ends a session by any of its genuine refresh tokens, old ones included, or by a valid access token (logout,
/// RFC 7009).
struct TokenRevoker: Sendable {
    let keys: RefreshKeyRing
    let accessTokens: AccessTokenReader
    let store: SessionStore
    let unknownKeyLimit: UnknownKeyLimit?

    /// Does nothing for a token that is unknown or forged, or whose session has ended.
    ///
    /// - Parameter address: the client's address.
    /// - Throws: `Problem`, `PostgresError`
    func revoke(_ text: String, from address: String?) async throws {
        guard let token = RefreshToken(text: text) else {
            return try await revoke(accessToken: text)
        }
        switch token.authenticity(under: keys) {
        case .genuine: try await store.revoke(token.sessionID, reason: .logout)
        case .unknownKey:
            try unknownKeyLimit?.take(from: address)
            let wasThere = try await store.revoke(token.sessionID, holding: token.hash, reason: .logout)
            if wasThere { unknownKeyLimit?.refund(to: address) }
        case .forged: return
        }
    }

    /// Only the end of its session revokes an access token, so revoking it ends the session.
    private func revoke(accessToken text: String) async throws {
        guard let claims = try accessTokens.genuineClaims(of: text),
            let session = try await store.read(claims.sessionID),
            claims.isLive(in: session)
        else { return }
        try await store.revoke(claims.sessionID, of: claims.subject, reason: .logout)
    }
}
