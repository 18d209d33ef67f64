/// The rules of an app's life cycle: when its screens read the session, cover it and lock it. It uses no clock and
/// observes no notification.
package struct AppLife: Sendable, Equatable {
    package enum Event: Sendable, Hashable, CaseIterable {
        case becameActive
        /// The device was unlocked, so the Keychain can be read. The app may be in the background.
        case protectedDataBecameAvailable
        /// A dialog of the system, or the app switcher, covers the app.
        case resignedActive
        case enteredBackground
    }

    package enum Action: Sendable, Equatable {
        /// Read the stored session, if that has not succeeded yet.
        case restore
        /// Read the stored session, or bring the session that was read up to date.
        case refresh
        case lock
    }

    /// The time in the background after which a protected session is locked. With zero, the session is locked when the
    /// app enters the background.
    package let lockDelay: Duration
    package private(set) var isInBackground = false
    private var isActive = true
    private var enteredBackgroundAt: Duration?
    /// Whether a session is still open that has to be locked.
    private var isLocking = false

    package init(lockDelay: Duration) { self.lockDelay = lockDelay }

    /// Whether the screens of a protected session must not be seen: in the app switcher, and until the session is
    /// locked.
    package var hidesProtectedContent: Bool { !isActive || isLocking }

    /// - Parameters:
    ///   - event: the event to handle.
    ///   - now: by a monotonic clock that includes time asleep.
    ///   - isProtected: whether a session is open that requires the user's authentication.
    package mutating func handle(_ event: Event, at now: Duration, isProtected: Bool) -> Action? {
        switch event {
        case .protectedDataBecameAvailable: return .restore
        case .resignedActive:
            isActive = false
            return nil
        case .enteredBackground:
            (isActive, isInBackground) = (false, true)
            enteredBackgroundAt = now
            return lockDelay <= .zero && isProtected ? lock() : nil
        case .becameActive:
            let away = enteredBackgroundAt.map { now - $0 }
            (isActive, isInBackground, enteredBackgroundAt) = (true, false, nil)
            if let away, away >= lockDelay, isProtected { return lock() }
            return .refresh
        }
    }

    /// The system has launched the app in the background, for example for a message.
    package mutating func launchedInBackground() { (isActive, isInBackground) = (false, true) }

    /// The session is no longer open.
    package mutating func sessionClosed() { isLocking = false }

    private mutating func lock() -> Action {
        isLocking = true
        return .lock
    }
}
