public import GatehouseContracts
public import Foundation

/// A session's rules, independent of clocks, stores and networks. Events change the phase; ``advice(after:at:)``
/// returns what to do next.
///
/// Asynchronous work remembers the ``epoch`` in which it began. A result with an older epoch belongs to an earlier
/// session and is dropped.
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
    /// Refresh tokens of sessions that ended here and whose logouts the server has not received yet.
    private(set) var pendingLogouts: [Redacted<String>] = []
    /// Whether the user has signed out while the stored session could not be read. It still has to be read for its
    /// logout.
    private(set) var hasUnreadSession = false

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

    /// Whether the store has been read.
    var isRestored: Bool {
        switch phase {
        case .restoring, .locked: false
        case .signedOut: !hasUnreadSession
        case .signedIn: true
        }
    }

    mutating func restored(_ state: StoredState?, wall: Date, monotonic: Duration) {
        epoch += 1
        hasUnreadSession = false
        pendingLogouts = (state?.pendingLogouts ?? []).adding(pendingLogouts)
        if let session = state?.session {
            phase = .signedIn(session, TokenLife(stored: session, wall: wall, monotonic: monotonic))
        } else {
            signOutUnlessDone()
        }
    }

    /// - Parameter isSignOutPending: whether the user has signed out while the stored session could not be read.
    mutating func failedToRestore(_ error: TokenStoreError, isSignOutPending: Bool = false) {
        if isSignOutPending {
            epoch += 1
            // A damaged session has no readable token for a logout.
            hasUnreadSession = error.code != .corrupt
            return signOutUnlessDone()
        }
        switch error.code {
        case .deviceLocked: phase = .locked(.device)
        case .userPresenceNeeded, .userPresenceRefused, .userPresenceFailed: phase = .locked(.userPresence)
        case .corrupt:
            epoch += 1
            phase = .signedOut(.storeCorrupt)
        // The stored state is unknown. The next call reads it again.
        default: phase = .restoring
        }
    }

    /// Keeps the reason of a sign-out in this process.
    private mutating func signOutUnlessDone() {
        if case .signedOut = phase { return }
        phase = .signedOut(nil)
    }

    // MARK: - Access tokens

    enum TokenAdvice: Sendable, Equatable {
        case use(GatehouseAccessToken)
        /// The token is still valid. Refresh it in the background.
        case useAndRefresh(GatehouseAccessToken)
        case refresh
        case refuse(GatehouseError.Kind)
    }

    /// - Parameter refused: the token that the server refused; `nil` for the first attempt.
    func advice(after refused: GatehouseAccessToken? = nil, at monotonic: Duration) -> TokenAdvice {
        switch phase {
        case .restoring, .locked: return .refuse(.locked)
        case .signedOut(nil), .signedOut(.some(.user)), .signedOut(.some(.accountDeleted)): return .refuse(.signedOut)
        case .signedOut: return .refuse(.sessionEnded)
        case .signedIn(let session, let life):
            // A request of one user is never repeated with another's token.
            if let user = refused?.user, user != session.user.id { return .refuse(.sessionEnded) }
            let token = GatehouseAccessToken(session.accessToken, of: session.user.id, issuedAt: life.issuedAt)
            // Alamofire's rule: only a caller that failed with the current token requests a new one.
            if refused == token || life.isOver(at: monotonic) { return .refresh }
            return life.isDue(at: monotonic) && refused == nil ? .useAndRefresh(token) : .use(token)
        }
    }

    // MARK: - Changes

    /// A user has signed in. The logout of the previous session becomes pending.
    mutating func begin(_ session: StoredSession, _ life: TokenLife) {
        if let old = current, old.refreshToken != session.refreshToken { remember(old) }
        epoch += 1
        hasUnreadSession = false
        phase = .signedIn(session, life)
    }

    /// A new pair of tokens for the same session, from the server or from another process through the store.
    mutating func renew(_ session: StoredSession, _ life: TokenLife) {
        guard current != nil else { return }
        phase = .signedIn(session, life)
    }

    mutating func update(_ user: User) {
        guard case .signedIn(var session, let life) = phase, session.user != user else { return }
        session.user = user
        phase = .signedIn(session, life)
    }

    /// Ends the current session, or the stored one that could not be read.
    ///
    /// - Parameter informingServer: whether the server must be informed.
    /// - Returns: whether there was such a session.
    @discardableResult
    mutating func end(_ reason: SignOutReason, informingServer: Bool) -> Bool {
        switch phase {
        case .signedIn(let session, _): if informingServer { remember(session) }
        case .restoring, .locked: hasUnreadSession = true
        case .signedOut: return false
        }
        epoch += 1
        phase = .signedOut(reason)
        return true
    }

    /// The user has to authenticate before the session is read again.
    mutating func lock() {
        guard current != nil else { return }
        epoch += 1
        phase = .locked(.userPresence)
    }

    mutating func finished(_ logout: Redacted<String>) {
        pendingLogouts.removeAll { $0 == logout }
    }

    /// Adds the stored logouts, which include those of other processes.
    mutating func addPendingLogouts(_ logouts: [Redacted<String>]) { pendingLogouts = logouts.adding(pendingLogouts) }

    private mutating func remember(_ session: StoredSession) {
        pendingLogouts = pendingLogouts.adding([session.refreshToken])
    }
}

/// The public state of a session.
public enum SessionState: Sendable, Equatable {
    /// The store has not been read yet.
    case restoring
    /// The store cannot be read yet: the device is locked, or the user has to authenticate.
    case locked(Lock)
    /// - `reason`: `nil` if no user was signed in before.
    case signedOut(reason: SignOutReason?)
    case signedIn(User)

    public enum Lock: Sendable, Equatable {
        /// Until the device has been unlocked once.
        case device
        /// Until ``GatehouseSession/unlock(reason:)``.
        case userPresence
    }

    /// The signed-in user, if any.
    public var user: User? {
        if case .signedIn(let user) = self { user } else { nil }
    }
}

/// Why a session ended.
public struct SignOutReason: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }

    /// The user signed out here.
    public static let user = Self("user")
    /// The server refused the current refresh token: the session was ended elsewhere or revoked.
    public static let endedByServer = Self("endedByServer")
    /// The server refused the current refresh token, and the session had expired unused.
    public static let expired = Self("expired")
    /// The user deleted the account here.
    public static let accountDeleted = Self("accountDeleted")
    /// Another process that shares the store signed out.
    public static let otherProcess = Self("otherProcess")
    /// The server ended the session, and the device reports that the user revoked the consent in the settings of their
    /// Apple account, or closed that account.
    public static let appleCredentialRevoked = Self("appleCredentialRevoked")
    /// The stored session was damaged.
    public static let storeCorrupt = Self("storeCorrupt")
}

/// The validity of an access token by this process' monotonic clock. The device's wall clock may be wrong by days and
/// may jump.
struct TokenLife: Sendable, Equatable {
    /// How long before expiry a token is refreshed: a fifth of its lifetime, at most five minutes.
    static func margin(of lifetime: Duration) -> Duration { min(.seconds(300), lifetime / 5) }

    /// From this moment the token is refreshed although it is still valid.
    let renewal: Duration
    let end: Duration
    /// When this process requested the token; `nil` if another process did.
    let issuedAt: Duration?

    /// - Parameters:
    ///   - lifetime: the server's value.
    ///   - sentAt: when the request for the token was sent. The server issued the token later, so the client's expiry
    ///     is never later than the server's.
    init(lifetime: Duration, sentAt: Duration) {
        issuedAt = sentAt
        end = sentAt + lifetime
        renewal = end - Self.margin(of: lifetime)
    }

    /// The validity of a token that an earlier process stored. Only the device's clock determines its age. If that
    /// clock is wrong, the token is refreshed too early, or the server refuses it and it is refreshed then.
    init(stored: StoredSession, wall: Date, monotonic: Duration) {
        let lifetime = Duration.seconds(stored.accessLifetime)
        let serverNow = wall.addingTimeInterval(stored.clockOffset)
        let left = stored.accessExpiresAt.timeIntervalSince(serverNow)
        let sane = min(max(left, 0), Double(stored.accessLifetime))
        issuedAt = nil
        end = monotonic + .seconds(sane)
        renewal = end - Self.margin(of: lifetime)
    }

    func isOver(at monotonic: Duration) -> Bool { monotonic >= end }

    func isDue(at monotonic: Duration) -> Bool { monotonic >= renewal }
}

/// The credential of a request. Get one from the session before each request, because it expires.
public struct GatehouseAccessToken: Sendable, Equatable {
    public let value: Redacted<String>

    let user: UUID?
    /// When this process requested the token, by the monotonic clock.
    let issuedAt: Duration?

    init(_ value: Redacted<String>, of user: UUID? = nil, issuedAt: Duration? = nil) {
        self.value = value
        self.user = user
        self.issuedAt = issuedAt
    }

    public static func == (one: Self, other: Self) -> Bool { one.value == other.value }
}

/// The two clocks that a session reads. Tests replace them.
public protocol SessionClock: Sendable {
    /// Time since a fixed moment, including time asleep. It never jumps, and users cannot set it.
    var monotonic: Duration { get }

    /// The device's clock. It may be wrong by days and may jump.
    var wall: Date { get }

    /// Waits for a pause, for example before a retry.
    func sleep(for duration: Duration) async throws

    /// Waits until a moment of ``monotonic`` that ends a time limit. By default a pause until then.
    func sleep(until moment: Duration) async throws
}

extension SessionClock {
    public func sleep(until moment: Duration) async throws { try await sleep(for: max(moment - monotonic, .zero)) }
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
    /// Runs `body` and returns when it ends or when the time is up. On a timeout `body` is cancelled but not awaited.
    func within(_ limit: Duration, _ body: @escaping @Sendable () async -> Void) async {
        let deadline = monotonic + limit
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let work = Task {
            await body()
            end.finish()
        }
        let alarm = Task {
            try? await sleep(until: deadline)
            end.finish()
        }
        for await _ in ends {}
        work.cancel()
        alarm.cancel()
    }
}
