public import Contracts
public import Foundation

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

/// Why the system does not ask for a face or a finger.
public enum UnlockObstacle: Sendable, Hashable {
    /// Too many attempts have failed: first the device's passcode.
    case lockedOut
    /// The user has not allowed biometrics for the app, or the device has no enrolled face or finger.
    case unavailable

    /// What the screen to unlock says of it.
    public var text: InterfaceText {
        switch self {
        case .lockedOut: .lockedOut
        case .unavailable: .biometryUnavailable
        }
    }
}

/// What Apple's dialog gave (`ASAuthorizationAppleIDCredential`), and the nonce that it was given.
public struct AppleCredential: Sendable, Equatable {
    public var identityToken: Redacted<String>
    public var authorizationCode: Redacted<String>?
    public var nonce: AppleNonce?
    /// Told with the first sign-in only.
    public var fullName: PersonNameComponents?

    public init(
        identityToken: Redacted<String>, authorizationCode: Redacted<String>? = nil, nonce: AppleNonce? = nil,
        fullName: PersonNameComponents? = nil
    ) {
        self.identityToken = identityToken
        self.authorizationCode = authorizationCode
        self.nonce = nonce
        self.fullName = fullName
    }
}
