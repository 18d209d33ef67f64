public import Foundation

// How the user unlocks the session, and when it expires.
extension GatehouseSession {
    /// How the user unlocks the session, as the app or the user has chosen. Whether this device can is another
    /// question: ``isProtected``.
    public nonisolated var unlockPolicy: UnlockPolicy { configuration.store.unlockPolicy }

    /// Whether the user has to authenticate before the stored session can be read again. It is `false` although
    /// ``unlockPolicy`` demands it on a device without enrolled biometrics or passcode: a user can sign in there, and
    /// the session is protected from the first launch after an enrolment.
    public nonisolated var isProtected: Bool { configuration.store.requiresUserPresence }

    /// Changes how the user unlocks the session, now and after later sign-ins. The store keeps the choice.
    ///
    /// If a user is signed in, the system's dialog appears first: the present policy decides who may change it, and a
    /// new policy must work before it protects anything.
    ///
    /// - Parameters:
    ///   - policy: the new policy.
    ///   - reason: the text of the system's dialog, in the user's language.
    /// - Throws: `locked` if the user cancelled or failed to authenticate, or if the session is locked;
    ///   `unlockUnavailable` if this device has no enrolled biometrics or passcode; `storage`.
    public func setUnlockPolicy(_ policy: UnlockPolicy, reason: String) async throws(GatehouseError) {
        try await start()
        let store = configuration.store
        guard policy != store.unlockPolicy else { return }
        do {
            if machine.current != nil { try await store.authenticate(toSet: policy, reason: reason) }
            try await exclusively { try await store.setUnlockPolicy(policy) }
        } catch {
            throw GatehouseError.of(error)
        }
    }

    /// When the tokens expire. `nil` if no user is signed in, or while the session is locked.
    public var expiry: SessionExpiry? {
        machine.current.map { SessionExpiry(accessToken: $0.accessExpiresAt, session: $0.refreshExpiresAt) }
    }
}

/// The times at which a session's tokens expire, by the server's clock.
public struct SessionExpiry: Sendable, Hashable {
    /// The client refreshes the access token before.
    public let accessToken: Date
    /// The session ends if the user does not use it until then. Each refresh moves this time.
    public let session: Date
}
