import Contracts
import Foundation

/// What a process makes of the stored record. Others write it, too, and so it is read first: these are the rules of who
/// replaces what.
///
/// A record without a session says that somebody has signed out: only a sign-in puts a session there again. A session is
/// replaced by its own successor, never by one that was issued before it, and never by another user's.
enum StoreChange: Sendable, Equatable {
    /// Somebody has signed in here.
    ///
    /// - `deviceToken`: what the server gave for the next sign-in.
    case signIn(StoredSession, deviceToken: Redacted<String>? = nil)
    /// This process' session has new tokens, which the server has given for this refresh token.
    case renewal(StoredSession, of: Redacted<String>)
    /// This process' session, of whose user the server says something new.
    case user(StoredSession)
    /// The user of this process' session has signed out.
    ///
    /// - `tellsServer`: whether the server is still to be told.
    case signOut(StoredSession, tellsServer: Bool)
    /// The server has refused this refresh token, and so ended the session.
    case refusal(Redacted<String>)
    /// The server has been told of the end of this refresh token's session.
    case finishedLogout(Redacted<String>)

    enum Outcome: Sendable, Equatable {
        case write(StoredState)
        /// There is nothing to change, or nothing that is this process' to change.
        case leave
        /// Another process was first: this is what to go on with. `nil`: somebody has signed out.
        case follow(StoredSession?)
    }

    /// - Parameters:
    ///   - stored: what is there; `nil`: nothing at all, which is nobody's word.
    ///   - pendingLogouts: those that this process knows of.
    func outcome(over stored: StoredState?, pendingLogouts: [Redacted<String>]) -> Outcome {
        let there = stored?.session
        switch self {
        case .signIn(let session, let deviceToken):
            // The one that was there ends: nobody could end it any more.
            let ended = there.flatMap { $0.refreshToken == session.refreshToken ? nil : $0.refreshToken }
            return write(session, over: stored, pendingLogouts, ended, deviceToken: deviceToken)
        case .renewal(let session, let presented):
            guard let stored else { return write(session, over: nil, pendingLogouts) }
            // What was given for the stored token follows it, also where the server's clock has been set back.
            guard let there, there.user.id == session.user.id,
                there.refreshToken == presented || there.issuedAt <= session.issuedAt
            else { return .follow(stored.session) }
            return write(session, over: stored, pendingLogouts)
        case .user(var session):
            if stored != nil {
                guard let there, there.user.id == session.user.id else { return .leave }
                // Another process may have renewed the tokens: only the user is replaced.
                let user = session.user
                session = there
                session.user = user
            }
            return write(session, over: stored, pendingLogouts)
        case .signOut(let session, let tellsServer):
            guard let there, there.user.id == session.user.id else {
                return write(there, over: stored, pendingLogouts)
            }
            return write(nil, over: stored, pendingLogouts, tellsServer ? there.refreshToken : nil)
        case .refusal(let token):
            guard there?.refreshToken == token else { return .leave }
            return write(nil, over: stored, pendingLogouts)
        case .finishedLogout(let token):
            guard var stored, stored.pendingLogouts.contains(token) else { return .leave }
            stored.pendingLogouts.removeAll { $0 == token }
            return .write(stored)
        }
    }

    /// Whether what cannot be read for this reason is replaced all the same. What is damaged serves nobody; a session
    /// that waits for its user's face gives way to the same user's password. All else may be readable in a moment.
    func replacesUnreadable(_ code: TokenStoreError.Code) -> Bool {
        switch code {
        case .corrupt: return true
        case .userPresenceNeeded, .userPresenceRefused:
            if case .signIn = self { return true }
            return false
        default: return false
        }
    }

    /// - Parameters:
    ///   - ended: the refresh token of a session that ends by this.
    ///   - deviceToken: a newer one than is stored.
    private func write(
        _ session: StoredSession?, over stored: StoredState?, _ pendingLogouts: [Redacted<String>],
        _ ended: Redacted<String>? = nil, deviceToken: Redacted<String>? = nil
    ) -> Outcome {
        .write(
            StoredState(
                session: session,
                pendingLogouts: (stored?.pendingLogouts ?? []).adding(pendingLogouts + (ended.map { [$0] } ?? [])),
                deviceToken: deviceToken ?? stored?.deviceToken))
    }
}

extension [Redacted<String>] {
    /// These logouts, then those of `others` that are not among them; the newest that are remembered.
    func adding(_ others: Self) -> Self {
        let all = others.reduce(into: self) { all, other in
            if !all.contains(other) { all.append(other) }
        }
        return Array(all.suffix(StoredState.mostPendingLogouts))
    }
}

/// What a store keeps, as JSON. A later version reads every earlier one; an earlier one refuses a later.
struct StoredState: Sendable, Equatable, Codable {
    static let currentVersion = 1
    /// As many logouts are remembered: whoever signs in and out offline all day forgets the oldest.
    static let mostPendingLogouts = 10

    var version = currentVersion
    /// The server that the tokens are of, as in `https://api.example.com:443`. `nil` in what nothing has stored yet.
    var origin: String?
    var session: StoredSession?
    /// Refresh tokens of sessions that ended here while the server could not be told.
    var pendingLogouts: [Redacted<String>] = []
    /// As the last sign-in gave it. It outlives the session: with it the server knows this device when somebody else tries
    /// the user's password.
    var deviceToken: Redacted<String>?

    init(
        session: StoredSession? = nil, pendingLogouts: [Redacted<String>] = [], deviceToken: Redacted<String>? = nil
    ) {
        self.session = session
        self.pendingLogouts = pendingLogouts
        self.deviceToken = deviceToken
    }

    /// - Throws: `fromLaterVersion` where a later version wrote the bytes; `corrupt` where they are no state at all.
    init(data: Data) throws(TokenStoreError) {
        struct Head: Decodable {
            var version: Int
        }
        // First, since the rest of a later one may have another form.
        if let version = try? JSON.decode(Head.self, from: data).version, version > Self.currentVersion {
            throw TokenStoreError(.fromLaterVersion, "format \(version)")
        }
        guard let state = try? JSON.decode(StoredState.self, from: data), state.version >= 1 else {
            throw TokenStoreError(.corrupt, "no stored session")
        }
        self = state
    }

    func data() throws(TokenStoreError) -> Data {
        do { return try JSON.encode(self) } catch { throw TokenStoreError(.failed, "cannot be written") }
    }
}

/// A session between two launches.
struct StoredSession: Sendable, Equatable, Codable {
    var accessToken: Redacted<String>
    var refreshToken: Redacted<String>
    /// By the server's clock.
    var accessExpiresAt: Date
    /// Seconds for which the access token lives in all.
    var accessLifetime: Int
    /// By the server's clock.
    var refreshExpiresAt: Date
    /// Seconds that the server's clock was ahead of this device's when the access token came.
    var clockOffset: TimeInterval
    var user: User
    /// Apple's name for the user, where this session began with Sign in with Apple.
    var appleUserID: String?

    /// When the access token was made, by the server's clock. It tells which of two states of a session is the newer one;
    /// the expiry does not, since lives differ by some per cent.
    var issuedAt: Date { accessExpiresAt.addingTimeInterval(-TimeInterval(accessLifetime)) }
}
