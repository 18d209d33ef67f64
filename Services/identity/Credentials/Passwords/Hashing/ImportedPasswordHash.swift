import IdentityCore

/// An imported password hash in the form in which it is stored: Gatehouse's own Argon2id, or the hash of another system
/// (``ForeignHash``).
struct ImportedPasswordHash: Sendable, Equatable {
    let text: String

    /// An installation's keys for password hashes.
    struct Keys: Sendable {
        /// By name.
        var peppers: Set<String>
        /// Whether hashes from Firebase can be verified.
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
            if case .firebase(let hash) = hash, hash.signerKey == nil, !keys.hasFirebaseSignerKey {
                throw Refusal("passwordHash was made by Firebase, and IDENTITY_FIREBASE_SIGNER_KEY_FILE is not set.")
            }
        } else {
            throw Self.unknown
        }
        self.text = text
    }

    private static var unknown: Refusal {
        Refusal("passwordHash has no supported form, or needs too much work.")
    }
}
