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

extension MessageKind {
    static let passwordReset = MessageKind(
        "passwordReset", required: .link, allowed: [.link, .app, .minutes], isOptional: false,
        templates: [
            "en": PackageResources.passwordReset_en_txt, "he": PackageResources.passwordReset_he_txt,
            "ru": PackageResources.passwordReset_ru_txt, "ar": PackageResources.passwordReset_ar_txt,
        ])
    static let passwordChanged = MessageKind(
        "passwordChanged", isSecurityNotice: true, allowed: [.app],
        templates: [
            "en": PackageResources.passwordChanged_en_txt, "he": PackageResources.passwordChanged_he_txt,
            "ru": PackageResources.passwordChanged_ru_txt, "ar": PackageResources.passwordChanged_ar_txt,
        ])

    static let ofPasswords = [passwordReset, passwordChanged]
}
