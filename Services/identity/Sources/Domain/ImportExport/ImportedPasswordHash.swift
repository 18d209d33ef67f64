/// The hash of a password as an import brings it, in the form in which it is kept.
///
/// Hashes of other systems are read here, too, once there is a type for them (`ForeignPasswordHash`): this is the one
/// place that decides which hashes an import takes.
struct ImportedPasswordHash: Sendable, Equatable {
    let text: String

    /// - Parameter peppers: the names of those that this installation has.
    init(_ text: String, peppers: Set<String>) throws(Refusal) {
        guard text.utf8.count <= 1024, let hash = PasswordHash(text) else {
            throw Refusal("passwordHash is no Argon2id hash in the PHC string format, or asks for too much work.")
        }
        if let pepper = hash.pepperID, !peppers.contains(pepper) {
            throw Refusal("passwordHash was made with the pepper \(pepper), which is not in IDENTITY_PEPPER_KEYS_FILE.")
        }
        self.text = text
    }
}
