import Contracts

extension PasswordPolicy {
    /// - Throws: `WEAK_PASSWORD`, naming `field`.
    func check(_ password: Password, for identifiers: [String], field: String) throws(Problem) {
        guard let reason = weakness(of: password, for: identifiers) else { return }
        throw Problem(
            .weakPassword, "Please choose a stronger password.",
            errors: [Problem.FieldError(field: field, message: reason)])
    }
}
