import Contracts
import ServiceKit

/// A password's hash names a pepper that this replica does not have: the key was put into use before every replica knew
/// it, or taken out of the file too early. That is trouble with keys and not a wrong password.
struct UnknownPepper: ProblemConvertible, CustomStringConvertible {
    /// Of the key.
    let id: String

    var problem: Problem { Problem(.unavailable) }

    var description: String {
        "a password was hashed under the pepper \(id), which is not in IDENTITY_PEPPER_KEYS_FILE of this replica"
    }
}
