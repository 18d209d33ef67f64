import Contracts
import Foundation

/// A session's rules, without clocks, stores and networks: each event changes the phase, or says what is to be done.
///
/// Whatever takes time is begun under a number, ``epoch``. Whoever comes back with an older one has a result of a session
/// that is not there any more, and drops it.
struct SessionMachine: Sendable {
    enum Phase: Sendable, Equatable {
        case restoring
        case locked(SessionState.Lock)
        case signedOut(SignOutReason?)
        case signedIn(StoredSession, TokenLife)
    }

    private(set) var phase = Phase.restoring
    /// Counts beginnings and ends of sessions.
    private(set) var epoch = 0
    /// Refresh tokens of sessions that have ended here, of which the server is still to be told.
    private(set) var pendingLogouts: [Redacted<String>] = []

    var state: SessionState {
        switch phase {
        case .restoring: .restoring
        case .locked(let lock): .locked(lock)
        case .signedOut(let reason): .signedOut(reason: reason)
        case .signedIn(let session, _): .signedIn(session.user)
        }
    }

    var current: StoredSession? {
        if case .signedIn(let session, _) = phase { session } else { nil }
    }

    // MARK: - Restoring

    /// Whether the store is still to be read.
    var isRestored: Bool {
        switch phase {
        case .restoring, .locked: false
        case .signedOut, .signedIn: true
        }
    }

    mutating func restored(_ state: StoredState?, wall: Date, monotonic: Duration) {
        epoch += 1
        pendingLogouts = state?.pendingLogouts ?? []
        if let session = state?.session {
            phase = .signedIn(session, TokenLife(stored: session, wall: wall, monotonic: monotonic))
        } else {
            phase = .signedOut(nil)
        }
    }

    mutating func failedToRestore(_ error: TokenStoreError) {
        switch error.code {
        case .deviceLocked: phase = .locked(.device)
        case .userPresenceNeeded, .userPresenceRefused: phase = .locked(.userPresence)
        case .corrupt:
            epoch += 1
            phase = .signedOut(.storeCorrupt)
        // Nothing is known: it is read again at the next occasion.
        default: phase = .restoring
        }
    }

    // MARK: - Access tokens

    enum TokenAdvice: Sendable, Equatable {
        case use(AccessToken)
        /// It still serves; a new one is to be had meanwhile.
        case useAndRefresh(AccessToken)
        case refresh
        case refuse(GatehouseError.Kind)
    }

    /// - Parameter refused: the token that the server has refused; `nil` for the first try.
    func advice(after refused: AccessToken? = nil, at monotonic: Duration) -> TokenAdvice {
        switch phase {
        case .restoring, .locked: return .refuse(.locked)
        case .signedOut(nil), .signedOut(.some(.user)), .signedOut(.some(.accountDeleted)): return .refuse(.signedOut)
        case .signedOut: return .refuse(.sessionEnded)
        case .signedIn(let session, let life):
            let token = AccessToken(session.accessToken)
            // Alamofire's rule: only who failed with the token that is still the current one asks for a new one.
            if refused == token || life.isOver(at: monotonic) { return .refresh }
            return life.isDue(at: monotonic) && refused == nil ? .useAndRefresh(token) : .use(token)
        }
    }

    // MARK: - Changes

    /// Somebody has signed in. A session that was there before ends at the server.
    mutating func begin(_ session: StoredSession, _ life: TokenLife) {
        if let old = current, old.refreshToken != session.refreshToken { remember(old) }
        epoch += 1
        phase = .signedIn(session, life)
    }

    /// A new pair of tokens for the same session: from the server, or from another process by way of the store.
    mutating func renew(_ session: StoredSession, _ life: TokenLife) {
        guard current != nil else { return }
        phase = .signedIn(session, life)
    }

    mutating func update(_ user: User) {
        guard case .signedIn(var session, let life) = phase, session.user != user else { return }
        session.user = user
        phase = .signedIn(session, life)
    }

    /// - Parameter tellingServer: whether the server is still to be told.
    mutating func end(_ reason: SignOutReason, tellingServer: Bool) {
        guard let session = current else { return }
        if tellingServer { remember(session) }
        epoch += 1
        phase = .signedOut(reason)
    }

    mutating func finished(_ logout: Redacted<String>) {
        pendingLogouts.removeAll { $0 == logout }
    }

    /// Logouts that are stored, of other processes too.
    mutating func learn(of logouts: [Redacted<String>]) { pendingLogouts = logouts.adding(pendingLogouts) }

    private mutating func remember(_ session: StoredSession) {
        pendingLogouts = pendingLogouts.adding([session.refreshToken])
    }
}
