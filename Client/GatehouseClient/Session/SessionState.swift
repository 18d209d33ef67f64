public import Contracts

/// Where a session stands, as whoever uses it sees it.
public enum SessionState: Sendable, Equatable {
    /// What is stored has not been read yet.
    case restoring
    /// It cannot be read yet: the device is locked, or the user has to prove who they are.
    case locked(Lock)
    /// - `reason`: `nil` where nobody was signed in here before.
    case signedOut(reason: SignOutReason?)
    case signedIn(User)

    public enum Lock: Sendable, Equatable {
        /// Until the device has been unlocked once.
        case device
        /// Until ``Session/unlock(reason:)``.
        case userPresence
    }

    /// The user, where somebody is signed in.
    public var user: User? {
        if case .signedIn(let user) = self { user } else { nil }
    }
}
