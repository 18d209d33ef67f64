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
