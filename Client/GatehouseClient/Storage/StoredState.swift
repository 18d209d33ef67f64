import Contracts
import Foundation

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
