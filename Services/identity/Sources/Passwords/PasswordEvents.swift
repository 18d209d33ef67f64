import Contracts

extension AuditEvent {
    static let passwordChanged = Self("password_changed", published: .passwordChanged)
    static let passwordReset = Self("password_reset", published: .passwordChanged)
    static let passwordRemoved = Self("password_removed", published: .userUpdated)

    static let ofPasswords = [passwordChanged, passwordReset, passwordRemoved]
}

extension AuditedAttempt.Method {
    static let password = Self("password")
}

extension AuditedAttempt.Action {
    /// A repeated registration with a password other than the account's is refused as one of a taken identifier.
    static let registration = Self(wrongCredential: .identifierTaken)
}
