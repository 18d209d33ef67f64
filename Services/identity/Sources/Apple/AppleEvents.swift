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
