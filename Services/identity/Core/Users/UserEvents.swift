import Contracts

extension AuditEvent {
    static let registered = Self("registered", published: .userCreated)
    static let profileChanged = Self("profile_changed", published: .userUpdated)
    static let roleChanged = Self("role_changed", published: .userUpdated)
    static let disabled = Self("disabled", published: .userDisabled)
    static let enabled = Self("enabled", published: .userEnabled)
    /// An operator has ended one session, or all of them.
    static let sessionEnded = Self("session_ended")
    static let sessionsEnded = Self("sessions_ended")

    static let ofUsers = [registered, profileChanged, roleChanged, disabled, enabled, sessionEnded, sessionsEnded]
}
