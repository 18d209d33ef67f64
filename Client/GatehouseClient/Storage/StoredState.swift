import Contracts
import Foundation

/// What a store keeps, as JSON. A later version reads every earlier one; an earlier one refuses a later.
struct StoredState: Sendable, Equatable, Codable {
    static let currentVersion = 1

    var version = currentVersion
    /// The server that the tokens are of, as in `https://api.example.com:443`. `nil` in what nothing has stored yet.
    var origin: String?
    var session: StoredSession?
    /// Refresh tokens of sessions that ended here while the server could not be told.
    var pendingLogouts: [Redacted<String>] = []

    var isEmpty: Bool { session == nil && pendingLogouts.isEmpty }

    init(session: StoredSession? = nil, pendingLogouts: [Redacted<String>] = []) {
        self.session = session
        self.pendingLogouts = pendingLogouts
    }

    /// - Throws: `corrupt` where the bytes are no state of this version or an earlier one.
    init(data: Data) throws(TokenStoreError) {
        do {
            self = try JSON.decode(StoredState.self, from: data)
        } catch {
            throw TokenStoreError(.corrupt, "no stored session")
        }
        guard (1...Self.currentVersion).contains(version) else {
            throw TokenStoreError(.corrupt, "format \(version) is of a later version")
        }
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
}
