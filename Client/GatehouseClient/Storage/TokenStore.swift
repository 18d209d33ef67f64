public import Foundation
package import GatehouseContracts

/// Keeps a session between launches, as bytes that only ``GatehouseSession`` understands.
///
/// A store must not treat unreadable data as an empty store: a locked device or a damaged file is an error. To a
/// session, an empty store means that no user is signed in.
public protocol TokenStore: Sendable {
    /// Returns the bytes that were saved last; `nil` if there are none.
    func load() async throws(TokenStoreError) -> Data?

    /// Replaces the stored bytes atomically. On return, they survive the end of the process.
    func save(_ data: Data) async throws(TokenStoreError)

    /// Authenticates the user, if the store requires it.
    ///
    /// - Parameter reason: the text of the system's dialog, in the user's language.
    func unlock(reason: String) async throws(TokenStoreError)

    /// Whether the user has signed out while the stored bytes could not be read. A store whose bytes are always
    /// readable needs no implementation.
    func isSignOutPending() async throws(TokenStoreError) -> Bool

    /// Records that the user has signed out while the stored bytes cannot be read, or deletes that record. On return,
    /// the record survives the end of the process.
    func setSignOutPending(_ isPending: Bool) async throws(TokenStoreError)

    /// Returns the bytes that this store has discarded because an earlier installation of the app saved them, and
    /// forgets them. `nil` if there are none, or if they could not be read. The session that they hold ends at the
    /// server.
    func takeDiscarded() async -> Data?

    /// Whether the user has to authenticate before the bytes that are stored now can be read: once in each process, and
    /// after ``lock()``.
    var requiresUserPresence: Bool { get }

    /// How the user unlocks the stored bytes, as the app or ``setUnlockPolicy(_:)`` has chosen.
    var unlockPolicy: UnlockPolicy { get }

    /// Authenticates the user before a change of the policy: by the present one, or by the new one if there is none.
    ///
    /// - Parameter reason: the text of the system's dialog, in the user's language.
    func authenticate(toSet policy: UnlockPolicy, reason: String) async throws(TokenStoreError)

    /// Changes and keeps the policy, and applies it to the stored bytes.
    func setUnlockPolicy(_ policy: UnlockPolicy) async throws(TokenStoreError)

    /// Forgets what the user's authentication has unlocked.
    func lock() async

    /// Runs `body` while no other process that shares the store runs one.
    ///
    /// A store without a lock just runs `body`: the server gives both processes the same successor of a token. If the
    /// task is cancelled while it waits, `body` does not run.
    func withExclusiveAccess<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value
}

extension TokenStore {
    public func unlock(reason: String) async throws(TokenStoreError) {}

    public func isSignOutPending() async throws(TokenStoreError) -> Bool { false }

    public func setSignOutPending(_ isPending: Bool) async throws(TokenStoreError) {
        if isPending { throw TokenStoreError(.failed, "this store cannot record a sign-out") }
    }

    public func takeDiscarded() async -> Data? { nil }

    public var requiresUserPresence: Bool { false }

    public var unlockPolicy: UnlockPolicy { .notRequired }

    public func authenticate(toSet policy: UnlockPolicy, reason: String) async throws(TokenStoreError) {
        if unlockPolicy != .notRequired || requiresUserPresence {
            throw TokenStoreError(.failed, "this store does not authenticate the user before a change of its lock")
        }
    }

    public func setUnlockPolicy(_ policy: UnlockPolicy) async throws(TokenStoreError) {
        if policy != .notRequired { throw TokenStoreError(.userPresenceUnavailable, "this store has no lock") }
    }

    public func lock() async {}

    public func withExclusiveAccess<Value: Sendable>(
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await body()
    }
}

/// Why a store could not be read or written. The error never contains stored data.
public struct TokenStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// The device has not been unlocked since it started. The stored session can be read later.
        public static let deviceLocked = Self(description: "deviceLocked")
        /// The user has to authenticate first: ``TokenStore/unlock(reason:)``.
        public static let userPresenceNeeded = Self(description: "userPresenceNeeded")
        /// The user cancelled the authentication.
        public static let userPresenceRefused = Self(description: "userPresenceRefused")
        /// The authentication failed: the system did not recognise the user, or no authentication can unlock the data
        /// any more.
        public static let userPresenceFailed = Self(description: "userPresenceFailed")
        /// This device cannot authenticate its user: it has no enrolled biometrics or passcode, or the user has not
        /// allowed biometrics for the app.
        public static let userPresenceUnavailable = Self(description: "userPresenceUnavailable")
        /// The stored data is damaged.
        public static let corrupt = Self(description: "corrupt")
        /// A later version of this library wrote the data, which stays unchanged. The session does not end, and no user
        /// can sign in until the app is updated or the store is emptied.
        public static let fromLaterVersion = Self(description: "fromLaterVersion")
        /// Any other error, for example a full disk or a missing permission.
        public static let failed = Self(description: "failed")
    }

    public let code: Code
    /// The system's error, for a log: `errno 28` or `OSStatus -25291`.
    public let reason: String

    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    public var description: String { reason.isEmpty ? code.description : "\(code): \(reason)" }
}

/// Keeps a session in memory: for tests, previews and private browsing.
public actor InMemoryTokenStore: TokenStore {
    private var data: Data?

    public init() {}

    /// A store with a session that no server has issued, for demos.
    package init(signedIn user: User) {
        let (hour, month) = (3600, 30 * 24 * 3600)
        let session = StoredSession(
            accessToken: Redacted("demo"), refreshToken: Redacted("demo"),
            accessExpiresAt: Date(timeIntervalSinceNow: Double(hour)), accessLifetime: hour,
            refreshExpiresAt: Date(timeIntervalSinceNow: Double(month)), clockOffset: 0, user: user)
        data = try? StoredState(session: session).data()
    }

    public func load() -> Data? { data }

    public func save(_ data: Data) { self.data = data }

    /// Deletes the stored session. An empty store is not an error. The server is not informed.
    public func delete() { data = nil }
}
