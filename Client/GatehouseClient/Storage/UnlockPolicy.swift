/// How the user unlocks a stored session: once in each process, and after some time in the background.
///
/// The system deletes the keys of protected sessions when the user removes the device's passcode. The user then signs
/// in again.
public enum UnlockPolicy: String, Sendable, Hashable, CaseIterable {
    /// The session needs no unlocking.
    case notRequired
    /// With Face ID or Touch ID. A change of the enrolled faces or fingers ends the session on this device.
    case biometrics
    /// With Face ID, Touch ID, or the device's passcode (on a Mac the user's password). The session stays if the
    /// enrolment changes, because the passcode can change it.
    case biometricsOrPasscode
}
