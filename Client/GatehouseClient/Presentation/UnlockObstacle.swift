/// Why the system does not even ask for a face or a finger.
public enum UnlockObstacle: Sendable, Hashable {
    /// Too many attempts have failed: first the device's passcode.
    case lockedOut
    /// The user has not allowed it to the app, or nobody is enrolled.
    case unavailable

    /// What the screen to unlock says of it.
    public var text: InterfaceText {
        switch self {
        case .lockedOut: .lockedOut
        case .unavailable: .biometryUnavailable
        }
    }
}
