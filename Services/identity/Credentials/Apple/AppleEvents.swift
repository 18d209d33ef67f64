import Contracts

extension AuditEvent {
    static let appleLinked = Self("apple_linked", published: .userUpdated)
    static let appleUnlinked = Self("apple_unlinked", published: .userUpdated)
    static let appleConsentRevoked = Self("apple_consent_revoked")
    static let appleTransferred = Self("apple_transferred", published: .userUpdated)

    static let ofApple = [appleLinked, appleUnlinked, appleConsentRevoked, appleTransferred]
}

extension AuditedAttempt.Method {
    static let apple = Self("apple", refusal: .invalidAppleToken, isCountedWithoutUser: true)
}

extension MessageKind {
    static let appleLinked = MessageKind(
        "appleLinked", isSecurityNotice: true, allowed: [.app],
        templates: [
            "en": PackageResources.appleLinked_en_txt, "he": PackageResources.appleLinked_he_txt,
            "ru": PackageResources.appleLinked_ru_txt, "ar": PackageResources.appleLinked_ar_txt,
        ])

    static let ofApple = [appleLinked]
}
