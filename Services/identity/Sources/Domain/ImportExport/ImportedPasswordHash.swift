/// The hash of a password as an import brings it, in the form in which it is kept: Argon2id as ours, or what another
/// system made (``ForeignHash``).
struct ImportedPasswordHash: Sendable, Equatable {
    let text: String

    /// The keys that an installation has for hashes of passwords.
    struct Keys: Sendable {
        /// By name.
        var peppers: Set<String>
        /// Whether hashes of Firebase can be verified.
        var hasFirebaseSignerKey = false
    }

    init(_ text: String, keys: Keys) throws(Refusal) {
        guard text.utf8.count <= 1024 else { throw Self.unknown }
        if let hash = PasswordHash(text) {
            if let pepper = hash.pepperID, !keys.peppers.contains(pepper) {
                throw Refusal(
                    "passwordHash was made with the pepper \(pepper), which is not in IDENTITY_PEPPER_KEYS_FILE.")
            }
        } else if let hash = ForeignHash(text) {
            if case .firebase = hash, !keys.hasFirebaseSignerKey {
                throw Refusal("passwordHash was made by Firebase, and IDENTITY_FIREBASE_SIGNER_KEY_FILE is not set.")
            }
        } else {
            throw Self.unknown
        }
        self.text = text
    }

    private static var unknown: Refusal {
        Refusal("passwordHash is in none of the forms that are taken, or asks for too much work.")
    }
}
