/// A password's hash that another system made, in the text in which it is kept until its user signs in:
///
/// | | |
/// |---|---|
/// | Argon2 | `$argon2i$v=19$m=65536,t=3,p=4$SALT$HASH`, also `argon2d`, `argon2id`, `v=16` or none |
/// | bcrypt | `$2b$12$…`, also `$2a$` and `$2y$` |
/// | scrypt | `$scrypt$ln=15,r=8,p=1$SALT$HASH` |
/// | PBKDF2 | `$pbkdf2-sha256$i=600000$SALT$HASH`, passlib's `$pbkdf2-sha256$600000$…`, Django's `pbkdf2_sha256$600000$…` |
/// | Firebase | `$firebase-scrypt$ln=14,r=8,sep=SEPARATOR$SALT$HASH` |
///
/// SALT, HASH and SEPARATOR are base64 without padding. None is taken that asks for too much work: whoever writes the list
/// of users must not decide how long a sign-in takes.
enum ForeignHash: Sendable, Equatable {
    case argon2(ForeignArgon2Hash)
    case bcrypt(BcryptHash)
    case scrypt(ScryptHash)
    case pbkdf2(PBKDF2Hash)
    case firebase(FirebaseHash)

    /// In bytes.
    static let saltLengths = 1...128
    static let hashLengths = 16...128

    /// `nil` when the text is of none of the forms, or asks for too much work.
    init?(_ text: String) {
        // Longer than any: nothing of it is looked at.
        guard text.utf8.count <= 1024 else { return nil }
        if let hash = BcryptHash(text) {
            self = .bcrypt(hash)
        } else if let hash = PBKDF2Hash(text) {
            self = .pbkdf2(hash)
        } else if let phc = PHCString(text), Self.saltLengths.contains(phc.salt.count),
            Self.hashLengths.contains(phc.hash.count)
        {
            if let hash = ForeignArgon2Hash(phc) {
                self = .argon2(hash)
            } else if let hash = ScryptHash(phc) {
                self = .scrypt(hash)
            } else if let hash = FirebaseHash(phc) {
                self = .firebase(hash)
            } else {
                return nil
            }
        } else {
            return nil
        }
    }
}
