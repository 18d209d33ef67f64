public import Contracts
public import Foundation

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

/// Where a session stands, as whoever uses it sees it.
public enum SessionState: Sendable, Equatable {
    /// What is stored has not been read yet.
    case restoring
    /// It cannot be read yet: the device is locked, or the user has to prove who they are.
    case locked(Lock)
    /// - `reason`: `nil` where nobody was signed in here before.
    case signedOut(reason: SignOutReason?)
    case signedIn(User)

    public enum Lock: Sendable, Equatable {
        /// Until the device has been unlocked once.
        case device
        /// Until ``Session/unlock(reason:)``.
        case userPresence
    }

    /// The user, where somebody is signed in.
    public var user: User? {
        if case .signedIn(let user) = self { user } else { nil }
    }
}

/// Why nobody is signed in any more.
public struct SignOutReason: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }

    /// The user signed out here.
    public static let user = Self("user")
    /// The server refused the current refresh token: the session was ended elsewhere or revoked.
    public static let endedByServer = Self("endedByServer")
    /// The same, and the session had not been used for so long that it was over.
    public static let expired = Self("expired")
    /// The user deleted the account here.
    public static let accountDeleted = Self("accountDeleted")
    /// Another process that shares the store signed out.
    public static let otherProcess = Self("otherProcess")
    /// The user took the consent back in the settings of their Apple account, or closed that account.
    public static let appleCredentialRevoked = Self("appleCredentialRevoked")
    /// What was stored could not be read by any version.
    public static let storeCorrupt = Self("storeCorrupt")
}

/// How long an access token is good for, by this process' monotonic clock: what the device shows may be wrong by days
/// and may jump.
struct TokenLife: Sendable, Equatable {
    /// A new token is asked for this long before the end: a fifth of the life, five minutes at most.
    static func margin(of lifetime: Duration) -> Duration { min(.seconds(300), lifetime / 5) }

    /// From here on a new one is asked for, while this one still serves.
    let renewal: Duration
    let end: Duration

    /// - Parameters:
    ///   - lifetime: as the server said.
    ///   - sentAt: when the request was sent that brought the token. The token was made after it, so that what is
    ///     reckoned here ends no later than what the server reckons.
    init(lifetime: Duration, sentAt: Duration) {
        end = sentAt + lifetime
        renewal = end - Self.margin(of: lifetime)
    }

    /// Of a token that an earlier process has stored. Of its age only the device's clock tells, and that may be wrong:
    /// then a token is renewed that need not be, or one is shown that the server refuses, and is renewed after that.
    init(stored: StoredSession, wall: Date, monotonic: Duration) {
        let lifetime = Duration.seconds(stored.accessLifetime)
        let serverNow = wall.addingTimeInterval(stored.clockOffset)
        let left = stored.accessExpiresAt.timeIntervalSince(serverNow)
        let sane = min(max(left, 0), Double(stored.accessLifetime))
        end = monotonic + .seconds(sane)
        renewal = end - Self.margin(of: lifetime)
    }

    func isOver(at monotonic: Duration) -> Bool { monotonic >= end }

    func isDue(at monotonic: Duration) -> Bool { monotonic >= renewal }
}

/// What a request proves its user with. Ask the session for one each time: it expires.
public struct AccessToken: Sendable, Equatable {
    public let value: Redacted<String>

    init(_ value: Redacted<String>) { self.value = value }
}

/// The two clocks that a session reads, so that tests can move them.
public protocol SessionClock: Sendable {
    /// Time since some moment, also while the device sleeps. It never jumps and no user sets it.
    var monotonic: Duration { get }

    /// What the device shows: it may be wrong by days and may jump.
    var wall: Date { get }

    func sleep(for duration: Duration) async throws
}

/// The system's own clocks.
public struct SystemClock: SessionClock {
    private static let start = ContinuousClock.now

    public init() {}

    public var monotonic: Duration { ContinuousClock.now - Self.start }

    public var wall: Date { Date() }

    public func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}

extension SessionClock {
    /// Runs `body`, and returns when it has ended or when the time is up, in which case `body` is cancelled and goes on
    /// as long as it likes.
    func within(_ limit: Duration, _ body: @escaping @Sendable () async -> Void) async {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let work = Task {
            await body()
            end.finish()
        }
        let alarm = Task {
            try? await sleep(for: limit)
            end.finish()
        }
        for await _ in ends {}
        work.cancel()
        alarm.cancel()
    }
}
