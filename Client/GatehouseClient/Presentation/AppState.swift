public import GatehouseContracts
public import Foundation

/// The screen that an app shows.
public enum AppState: Sendable, Equatable {
    /// The stored session has not been read yet. This includes the time until the device is first unlocked after it
    /// started.
    case launching
    /// - `reason`: `nil` if no user was signed in before.
    case signedOut(reason: SignOutReason?)
    /// A user is signed in and has to authenticate before the app shows content.
    case needsUnlock
    case signedIn(User)

    package init(_ state: SessionState) {
        self =
            switch state {
            case .restoring, .locked(.device): .launching
            case .locked(.userPresence): .needsUnlock
            case .signedOut(let reason): .signedOut(reason: reason)
            case .signedIn(let user): .signedIn(user)
            }
    }
}

// A state may be logged, so it shows the user's id and not the user's address.

extension SessionState: CustomStringConvertible, CustomReflectable {
    public var description: String {
        switch self {
        case .restoring: "restoring"
        case .locked(let lock): "locked(\(lock))"
        case .signedOut(let reason): "signedOut(\(reason?.description ?? "-"))"
        case .signedIn(let user): "signedIn(\(user.id))"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension AppState: CustomStringConvertible, CustomReflectable {
    public var description: String {
        switch self {
        case .launching: "launching"
        case .needsUnlock: "needsUnlock"
        case .signedOut(let reason): "signedOut(\(reason?.description ?? "-"))"
        case .signedIn(let user): "signedIn(\(user.id))"
        }
    }

    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why the system does not show the biometrics dialog.
package enum UnlockObstacle: Sendable, Hashable {
    /// Too many attempts have failed. The system requires the device's passcode first.
    case lockedOut
    /// The user has not allowed biometrics for the app, or the device has no enrolled face or finger.
    case unavailable

    /// The explanation on the unlock screen.
    package var text: InterfaceText {
        switch self {
        case .lockedOut: .lockedOut
        case .unavailable: .biometryUnavailable
        }
    }
}

/// How the unlock screen responds to a failed authentication.
package enum UnlockFailure: Sendable, Equatable {
    /// It shows nothing: the user has closed the dialog, or the system could not show it.
    case silent
    case text(InterfaceText)
    /// It shows the error's message.
    case error
    /// It shows the sign-in screen, because another attempt would fail too.
    case signIn

    package init(_ code: TokenStoreError.Code, obstacle: UnlockObstacle?) {
        switch (code, obstacle) {
        case (.userPresenceRefused, let obstacle?), (.userPresenceNeeded, let obstacle?),
            (.userPresenceFailed, let obstacle?):
            self = .text(obstacle.text)
        case (.userPresenceRefused, nil), (.userPresenceNeeded, nil), (.deviceLocked, _): self = .silent
        case (.userPresenceFailed, nil): self = .signIn
        default: self = .error
        }
    }
}

/// The result of Apple's dialog (`ASAuthorizationAppleIDCredential`) and the nonce of the request.
public struct AppleCredential: Sendable, Equatable {
    public var identityToken: Redacted<String>
    public var authorizationCode: Redacted<String>?
    public var nonce: AppleNonce?
    /// Apple sends it with the first sign-in only.
    public var fullName: PersonNameComponents?

    /// - Parameters:
    ///   - identityToken: the identity token's text. It expires after some minutes.
    ///   - authorizationCode: the code's text. With it, deleting the account also revokes the app's access at Apple.
    ///   - nonce: the nonce in the request to Apple's dialog.
    ///   - fullName: Apple sends it with the first sign-in only.
    public init(
        identityToken: String, authorizationCode: String? = nil, nonce: AppleNonce? = nil,
        fullName: PersonNameComponents? = nil
    ) {
        self.identityToken = Redacted(identityToken)
        self.authorizationCode = authorizationCode.map { Redacted($0) }
        self.nonce = nonce
        self.fullName = fullName
    }
}
