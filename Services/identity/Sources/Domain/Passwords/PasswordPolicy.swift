/// What a new password must be. Length counts; composition does not (NIST SP 800-63B-4 §3.1.1.2).
struct PasswordPolicy: Sendable {
    /// In Unicode scalars after NFKC.
    var minimumLength = 8

    /// Why the password is refused, in words for whoever chose it; `nil` where it is not.
    /// - Parameter identifiers: the user's own, in the form in which they are kept.
    func weakness(of password: Password, for identifiers: [String]) -> String? {
        let scalars = password.text.unicodeScalars
        if scalars.count < minimumLength {
            return "The password needs at least \(minimumLength) characters."
        }
        let folded = password.text.lowercased()
        if Set(folded.unicodeScalars).count < 3 || CommonPasswords.contains(folded) {
            return "This password is among the first that anybody would try."
        }
        let names = identifiers.flatMap { [$0, $0.split(separator: "@").first.map(String.init) ?? $0] }
        if names.contains(folded) {
            return "The password is your own address or number."
        }
        return nil
    }
}
