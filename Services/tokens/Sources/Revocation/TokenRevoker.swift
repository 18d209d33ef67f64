import AccessToken
import Contracts
import Foundation
import Postgres

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

/// Ending a session deletes its row and, in the same statement, adds an entry to the revocation feed.
extension SessionStore {
    /// Ends one session; with `userID`, only if the session is that user's.
    ///
    /// - Returns: `false` when no such session exists.
    @discardableResult
    func revoke(_ id: UUID, of userID: UUID? = nil, reason: RevocationReason) async throws(PostgresError) -> Bool {
        let result = try await pool.query(
            """
            WITH ended AS (
                DELETE FROM sessions WHERE id = \(id) AND (\(userID) IS NULL OR user_id = \(userID))
                RETURNING id, user_id, access_expires_at
            )
            \(revocationsOfEnded: reason, lifetimes)
            """)
        return result.affectedRows == 1
    }

    /// Ends one session if `hash` is the hash of its current token or of the predecessor.
    ///
    /// - Returns: `false` when no session matches.
    @discardableResult
    func revoke(_ id: UUID, holding hash: [UInt8], reason: RevocationReason) async throws(PostgresError) -> Bool {
        let result = try await pool.query(
            """
            WITH ended AS (
                DELETE FROM sessions WHERE id = \(id) AND (current_hash = \(hash) OR previous_hash = \(hash))
                RETURNING id, user_id, access_expires_at
            )
            \(revocationsOfEnded: reason, lifetimes)
            """)
        return result.affectedRows == 1
    }

    /// Ends a session whose refresh token two holders have used, and adds an audit event.
    ///
    /// - Returns: `false` when the session has been rotated since it was read.
    func revokeStolen(
        _ id: UUID, generation: Int32, theft: RotationDecision.Theft
    ) async throws(PostgresError) -> Bool {
        let result = try await pool.query(
            """
            WITH ended AS (
                DELETE FROM sessions WHERE id = \(id) AND generation = \(generation)
                RETURNING id, user_id, access_expires_at
            ), event AS (
                INSERT INTO audit_events (kind, user_id, session_id)
                SELECT \("theft." + theft.rawValue), user_id, id FROM ended
            )
            \(revocationsOfEnded: .replay, lifetimes)
            """)
        return result.affectedRows == 1
    }

    /// Ends all sessions of a user except `spared`; with `credentialsVersion`, only those whose sign-in was verified
    /// against older credentials. If the account was deleted, removes the user too, who can then have no session again.
    func revokeAll(
        of userID: UUID, except spared: UUID? = nil, below credentialsVersion: Int64? = nil, reason: RevocationReason
    ) async throws {
        try await pool.withTransaction { transaction in
            try await transaction.lockUser(userID)
            try await transaction.endSessions(
                of: userID, except: spared, below: credentialsVersion, reason: reason, lifetimes)
            guard reason == .accountDeleted else { return }
            try await transaction.query("DELETE FROM users WHERE id = \(userID)")
            try await transaction.query("INSERT INTO audit_events (kind, user_id) VALUES ('userErased', \(userID))")
        }
    }

    /// Seconds for which the service remembers that a user signed out everywhere: longer than any sign-in takes.
    static let signOutMemory: TimeInterval = 600

    /// Ends all sessions of a user except `spared`. A sign-in in progress gets no session either.
    func signOut(_ userID: UUID, except spared: UUID?) async throws {
        try await pool.withTransaction { transaction in
            try await transaction.lockUser(userID)
            try await transaction.endSessions(of: userID, except: spared, reason: .logout, lifetimes)
            try await transaction.query(
                "UPDATE users SET signed_out_at = statement_timestamp() WHERE id = \(userID)")
        }
    }
}

extension PostgresTransaction {
    /// Ends the sessions of a user. The caller has called `lockUser` for the user.
    fileprivate func endSessions(
        of userID: UUID, except spared: UUID?, below credentialsVersion: Int64? = nil, reason: RevocationReason,
        _ lifetimes: SessionStore.Lifetimes
    ) async throws(PostgresError) {
        try await query(
            """
            WITH ended AS (
                DELETE FROM sessions
                WHERE user_id = \(userID) AND id IS DISTINCT FROM \(spared)
                    AND (\(credentialsVersion) IS NULL OR credentials_version < \(credentialsVersion))
                RETURNING id, user_id, access_expires_at
            )
            \(revocationsOfEnded: reason, lifetimes)
            """)
    }
}

extension PostgresQuery.Interpolation {
    /// Adds entries to the feed for the sessions that `ended`, the statement's common table expression, deleted.
    mutating func appendInterpolation(
        revocationsOfEnded reason: RevocationReason, _ lifetimes: SessionStore.Lifetimes
    ) {
        appendLiteral(
            """
            INSERT INTO revocations (session_id, user_id, access_expires_at, reason)
            SELECT id, user_id, GREATEST(access_expires_at, statement_timestamp() +
            """)
        appendLiteral(" ")
        appendInterpolation(lifetimes.access)
        appendLiteral(" * interval '1 second'), ")
        appendInterpolation(reason.rawValue)
        appendLiteral(" FROM ended")
    }
}
