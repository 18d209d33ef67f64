public import Contracts

/// What an app shows: one of four screens.
public enum AppState: Sendable, Equatable {
    /// What is stored is not known yet; also as long as the device has not been unlocked since it was started.
    case launching
    /// - `reason`: `nil` where nobody was signed in here before.
    case signedOut(reason: SignOutReason?)
    /// Somebody is signed in, and has to prove who they are before they see anything.
    case needsUnlock
    case signedIn(User)

    public init(_ state: SessionState) {
        self =
            switch state {
            case .restoring, .locked(.device): .launching
            case .locked(.userPresence): .needsUnlock
            case .signedOut(let reason): .signedOut(reason: reason)
            case .signedIn(let user): .signedIn(user)
            }
    }
}
