import Contracts
import Foundation
import ServiceKit

/// Proving oneself again by the password.
struct PasswordReauthentication: Sendable {
    let passwords: PasswordStore
    let hasher: PasswordHasher
    let limits: AttemptLimits
    let reauthentication: Reauthentication

    /// - Throws: `INVALID_CREDENTIALS` for a wrong password, which counts as one does when the password is changed;
    ///   `INVALID_REQUEST` where the user has none.
    func callAsFunction(_ text: String, of user: ForwardedUser, context: GatehouseRequestContext) async throws {
        let password = try Problem.checking("password") { () throws(Refusal) in try Password(text) }
        let found = try await passwords.account(user.id, deadline: context.deadline.forDatabase)
        guard let (account, hash) = found else { throw Problem(.invalidToken) }
        guard let hash else { throw Problem.invalid("password", "The account has no password.") }
        try await limits.guess(passwordOf: account.id, from: context.clientAddress) {
            guard try await hasher.verify(password, against: hash, deadline: context.deadline) else {
                throw Problem(.invalidCredentials, "The password is not right.")
            }
        }
        try await reauthentication(
            of: user, proving: account, by: [.password], refusal: Problem(.invalidCredentials), context: context)
    }
}
