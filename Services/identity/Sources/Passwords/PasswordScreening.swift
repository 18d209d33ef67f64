import Contracts

/// What a new password is held against: the rules, and the passwords that are known from breaches.
struct PasswordScreening: Sendable {
    let policy: PasswordPolicy
    /// `nil`: the operator has no list of them.
    let breached: BreachedPasswords?

    /// Why the password is refused, in words for whoever chose it; `nil` where it is not.
    /// - Parameter identifiers: the user's own, in the form in which they are kept.
    func weakness(of password: Password, for identifiers: [String]) async throws -> String? {
        if let reason = policy.weakness(of: password, for: identifiers) { return reason }
        guard try await breached?.contain(password) == true else { return nil }
        return "This password is known from a breach of another service. Whoever guesses would try it."
    }

    /// - Throws: `WEAK_PASSWORD`, naming `field`.
    func check(_ password: Password, for identifiers: [String], field: String) async throws {
        guard let reason = try await weakness(of: password, for: identifiers) else { return }
        throw Problem(
            .weakPassword, "Please choose a stronger password.",
            errors: [Problem.FieldError(field: field, message: reason)])
    }
}
