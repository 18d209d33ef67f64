import Bytes
import Contracts
import ServiceKit

/// Verifies hashes that other systems made.
struct ForeignHashing: Sendable {
    /// The project's, where users came from Firebase.
    var firebaseSignerKey: [UInt8]?

    /// A user came from Firebase, and this replica was not told the project's key.
    struct NoSignerKey: ProblemConvertible, CustomStringConvertible {
        var problem: Problem { Problem(.unavailable) }
        var description: String {
            "a password was hashed by Firebase, and IDENTITY_FIREBASE_SIGNER_KEY_FILE is not set"
        }
    }

    /// Memory ran out, or a library has a bound that is lower than ours.
    struct Refused: ProblemConvertible, CustomStringConvertible {
        var problem: Problem { Problem(.unavailable) }
        var description: String { "a password could not be hashed as another system had done it" }
    }

    /// Blocks the calling thread for the whole of the work.
    ///
    /// Other systems hash a password as it was typed, without bringing it into a normal form.
    /// - Throws: ``NoSignerKey``, ``Refused``: it may well be the right password.
    func verify(_ password: Password, _ hash: ForeignHash) throws -> Bool {
        let typed = Array(password.typed.utf8)
        switch hash {
        case .bcrypt(let hash): return Bcrypt.verify(typed, hash)
        case .argon2(let hash): return try isEqual(Argon2.hash(typed, as: hash), hash.hash)
        case .scrypt(let hash):
            let made = OpenSSLDerivation.scrypt(
                typed, salt: hash.salt, parameters: hash.parameters, length: hash.hash.count)
            return try isEqual(made, hash.hash)
        case .pbkdf2(let hash):
            let made = OpenSSLDerivation.pbkdf2(
                typed, salt: hash.salt, digest: hash.digest, iterations: hash.iterations, length: hash.hash.count)
            return try isEqual(made, hash.hash)
        case .firebase(let hash):
            guard let firebaseSignerKey else { throw NoSignerKey() }
            let key = OpenSSLDerivation.scrypt(
                typed, salt: hash.salt + hash.separator, parameters: hash.parameters, length: 64)
            return try isEqual(
                key.flatMap { OpenSSLDerivation.aes256CTR(firebaseSignerKey, key: Array($0.prefix(32))) }, hash.hash)
        }
    }

    private func isEqual(_ made: [UInt8]?, _ kept: [UInt8]) throws -> Bool {
        guard let made else { throw Refused() }
        return constantTimeEqual(made, kept)
    }
}
