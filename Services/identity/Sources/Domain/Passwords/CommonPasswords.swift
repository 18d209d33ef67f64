/// The passwords of eight characters and more that are tried first: two and a half times as many as anybody has guesses at
/// one account on the first day. A corpus of leaked passwords would be gigabytes; an operator may give one
/// (``PasswordFilter``).
enum CommonPasswords {
    /// - Parameter password: in lower case.
    static func contains(_ password: String) -> Bool {
        words.contains(password) || isRun(password)
    }

    /// `abcdefgh`, `87654321`: each scalar one above or one below the last.
    private static func isRun(_ password: String) -> Bool {
        let values = password.unicodeScalars.map { Int($0.value) }
        let steps = Set(zip(values.dropFirst(), values).map { $0 - $1 })
        return steps == [1] || steps == [-1]
    }
}
