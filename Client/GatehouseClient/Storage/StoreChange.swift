import GatehouseContracts
import Foundation

/// A change to the stored record. Other processes write the record too, so a process reads it first. These rules decide
/// which state replaces which.
///
/// A record without a session means that the user has signed out. Only a sign-in stores a session again. Without a
/// sign-in, a session is replaced only by its own successor: never by one that was issued earlier, and never by another
/// user's.
enum StoreChange: Sendable, Equatable {
    /// A user has signed in here.
    ///
    /// - `deviceToken`: the server's token for the next sign-in.
    case signIn(StoredSession, deviceToken: Redacted<String>? = nil)
    /// This process' session has new tokens, which the server issued for the given refresh token.
    case renewal(StoredSession, of: Redacted<String>)
    /// The server has sent new data of the session's user.
    case user(StoredSession)
    /// This process begins to delete the account of its session, or knows that the account still exists.
    case deletion(of: StoredSession, isRequested: Bool)
    /// The user of this process' session has signed out.
    ///
    /// - `informsServer`: whether the server must be informed.
    case signOut(StoredSession, informsServer: Bool)
    /// The server has refused this refresh token, which ends the session.
    case refusal(Redacted<String>)
    /// The server has received the logout for this refresh token.
    case finishedLogout(Redacted<String>)

    enum Outcome: Sendable, Equatable {
        case write(StoredState)
        /// Nothing has changed, or the record belongs to another process' session.
        case leave
        /// Another process has changed the record first. Adopt this session; `nil` means that the user has signed out.
        case follow(StoredSession?)
    }

    /// - Parameters:
    ///   - stored: the record; `nil` if there is none, which is not a sign-out.
    ///   - pendingLogouts: the logouts that this process knows.
    func outcome(over stored: StoredState?, pendingLogouts: [Redacted<String>]) -> Outcome {
        let there = stored?.session
        switch self {
        case .signIn(let session, let deviceToken):
            // The replaced session must end at the server: its tokens are lost here.
            let ended = there.flatMap { $0.refreshToken == session.refreshToken ? nil : $0.refreshToken }
            return write(session, over: stored, pendingLogouts, ended, deviceToken: deviceToken)
        case .renewal(let session, let presented):
            guard let stored else { return write(session, over: nil, pendingLogouts) }
            // A successor of the stored token replaces it even if the server's clock has been set back.
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
        case .deletion(let session, let isRequested):
            guard var there, there.user.id == session.user.id,
                (there.isDeletionRequested == true) != isRequested
            else { return .leave }
            there.isDeletionRequested = isRequested ? true : nil
            return write(there, over: stored, pendingLogouts)
        case .signOut(let session, let informsServer):
            guard let there, there.user.id == session.user.id else {
                return write(there, over: stored, pendingLogouts)
            }
            return write(nil, over: stored, pendingLogouts, informsServer ? there.refreshToken : nil)
        case .refusal(let token):
            guard there?.refreshToken == token else { return .leave }
            return write(nil, over: stored, pendingLogouts)
        case .finishedLogout(let token):
            guard var stored, stored.pendingLogouts.contains(token) else { return .leave }
            stored.pendingLogouts.removeAll { $0 == token }
            return .write(stored)
        }
    }

    /// Whether this change replaces a record that cannot be read for this reason. A damaged record is useless, so every
    /// change replaces it. A session locked by biometrics gives way to a sign-in. With any other reason the record may
    /// become readable later, so it stays.
    func replacesUnreadable(_ code: TokenStoreError.Code) -> Bool {
        switch code {
        case .corrupt: return true
        case .userPresenceNeeded, .userPresenceRefused, .userPresenceFailed:
            if case .signIn = self { return true }
            return false
        default: return false
        }
    }

    /// - Parameters:
    ///   - ended: the refresh token of a session that this change ends.
    ///   - deviceToken: replaces the stored one.
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
    /// These logouts, then those of `others` that are not among them, limited to the newest
    /// ``StoredState/mostPendingLogouts``.
    func adding(_ others: Self) -> Self {
        let all = others.reduce(into: self) { all, other in
            if !all.contains(other) { all.append(other) }
        }
        return Array(all.suffix(StoredState.mostPendingLogouts))
    }
}

/// The stored record, as JSON. Each version reads the records of earlier versions and refuses those of later ones.
struct StoredState: Sendable, Equatable, Codable {
    static let currentVersion = 1
    /// The limit of pending logouts. Beyond it, the oldest is dropped.
    static let mostPendingLogouts = 10

    var version = currentVersion
    /// The server that issued the tokens, as in `https://api.example.com:443`. `nil` in a new record.
    var origin: String?
    var session: StoredSession?
    /// Refresh tokens of sessions that ended here while the server could not be reached.
    var pendingLogouts: [Redacted<String>] = []
    /// The device token of the last sign-in. It outlives the session: with it the server recognizes this device while
    /// an attacker tries the user's password.
    var deviceToken: Redacted<String>?

    init(
        session: StoredSession? = nil, pendingLogouts: [Redacted<String>] = [], deviceToken: Redacted<String>? = nil
    ) {
        self.session = session
        self.pendingLogouts = pendingLogouts
        self.deviceToken = deviceToken
    }

    /// - Throws: `fromLaterVersion` if a later version wrote the bytes; `corrupt` if they are not a record.
    init(data: Data) throws(TokenStoreError) {
        struct Head: Decodable {
            var version: Int
        }
        // Check the version first, because the rest of a later format may differ.
        if let version = try? ClientJSON.decode(Head.self, from: data).version, version > Self.currentVersion {
            throw TokenStoreError(.fromLaterVersion, "format \(version)")
        }
        guard let state = try? ClientJSON.decode(StoredState.self, from: data), state.version >= 1 else {
            throw TokenStoreError(.corrupt, "no stored session")
        }
        self = state
    }

    func data() throws(TokenStoreError) -> Data {
        do { return try ClientJSON.encode(self) } catch { throw TokenStoreError(.failed, "cannot be written") }
    }
}

/// A stored session.
struct StoredSession: Sendable, Equatable, Codable {
    var accessToken: Redacted<String>
    var refreshToken: Redacted<String>
    /// By the server's clock.
    var accessExpiresAt: Date
    /// The access token's whole lifetime, in seconds.
    var accessLifetime: Int
    /// By the server's clock.
    var refreshExpiresAt: Date
    /// How many seconds the server's clock was ahead of this device's when the access token arrived.
    var clockOffset: TimeInterval
    var user: User
    /// Apple's identifier of the user, if this session began with Sign in with Apple.
    var appleUserID: String?
    /// Whether the server may have deleted the account without the client knowing. Records of earlier versions lack it,
    /// and a renewal of the session removes it.
    var isDeletionRequested: Bool?

    /// When the access token was issued, by the server's clock. It orders two states of a session. The expiry does not,
    /// because lifetimes vary by some per cent.
    var issuedAt: Date { accessExpiresAt.addingTimeInterval(-TimeInterval(accessLifetime)) }
}
