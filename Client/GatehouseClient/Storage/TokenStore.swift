public import Foundation

/// Where a session is kept between launches: bytes that only ``Session`` understands.
///
/// A store never takes what it cannot read for an empty one: a device that is still locked, or a damaged file, is an
/// error. To a session "nothing is there" means that nobody is signed in.
public protocol TokenStore: Sendable {
    /// What was saved last; `nil` where there is nothing.
    func load() async throws(TokenStoreError) -> Data?

    /// Replaces what is there, wholly or not at all. When it returns, the bytes survive the end of the process.
    func save(_ data: Data) async throws(TokenStoreError)

    /// Lets the user prove who they are, where the store asks for it.
    ///
    /// - Parameter reason: what the system's dialog says, in the user's language.
    func unlock(reason: String) async throws(TokenStoreError)

    /// Runs `body` while no other process that shares the store runs one.
    ///
    /// Where two processes cannot be kept apart it just runs: the server gives both the same successor of a token. Where
    /// the task is cancelled while it waits, `body` does not run.
    func withExclusiveAccess<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value
}

extension TokenStore {
    public func unlock(reason: String) async throws(TokenStoreError) {}

    public func withExclusiveAccess<Value: Sendable>(
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await body()
    }
}

/// Why a store could not be read or written. It never holds what is in the store.
public struct TokenStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        public let description: String

        /// The device has not been unlocked since it was started. What is stored is there, and can be read later.
        public static let deviceLocked = Self(description: "deviceLocked")
        /// The user has to prove who they are first: ``TokenStore/unlock(reason:)``.
        public static let userPresenceNeeded = Self(description: "userPresenceNeeded")
        /// The user cancelled that proof, or did not succeed.
        public static let userPresenceRefused = Self(description: "userPresenceRefused")
        /// What is there cannot be read by any version.
        public static let corrupt = Self(description: "corrupt")
        /// A later version of this library wrote what is there. It stays as it is: nobody is signed out, and nobody can
        /// sign in before the app is updated or the store is emptied.
        public static let fromLaterVersion = Self(description: "fromLaterVersion")
        /// Anything else: a full disk, a missing permission.
        public static let failed = Self(description: "failed")
    }

    public let code: Code
    /// For a log: what the system said, such as `errno 28` or `OSStatus -25291`.
    public let reason: String

    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    public var description: String { reason.isEmpty ? code.description : "\(code): \(reason)" }
}

/// Keeps a session as long as the process lives: for tests, previews and private browsing.
public actor InMemoryTokenStore: TokenStore {
    private var data: Data?

    public init() {}

    public func load() -> Data? { data }

    public func save(_ data: Data) { self.data = data }

    /// Removes what is there, for an app that begins anew; no error where there is nothing. The server is not told.
    public func delete() { data = nil }
}
