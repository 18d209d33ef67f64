import Contracts
import Foundation
import ServiceKit

/// Changing or setting one's password (`POST /v1/auth/password`). All other sessions end. The current password is a
/// proof in itself; whoever has none must have proved lately who they are.
struct PasswordChange: Sendable {
    let passwords: PasswordStore
    let hasher: PasswordHasher
    let screening: PasswordScreening
    let limits: AttemptLimits
    let age: AuthenticationAge
    let notices: AccountNotices
    let delivery: OutboxDelivery
    let worker: OutboxWorker

    func callAsFunction(
        _ request: ChangePasswordRequest, by user: ForwardedUser, context: GatehouseRequestContext
    ) async throws {
        let new = try Problem.checking("newPassword") { () throws(Refusal) in try Password(request.newPassword) }
        let current = try Problem.checking("currentPassword") { () throws(Refusal) in
            try request.currentPassword.map { text throws(Refusal) in try Password(text) }
        }
        let deadline = context.deadline
        guard let (account, hash) = try await passwords.account(user.id, deadline: deadline.forDatabase) else {
            throw Problem(.invalidToken)
        }
        guard account.hasIdentifier else {
            throw Problem.invalid("newPassword", "The account has no e-mail address or phone number to sign in with.")
        }
        try await screening.check(new, for: [account.email, account.phone].compactMap(\.self), field: "newPassword")
        if hash != nil {
            guard let current else { throw Problem.invalid("currentPassword", "Please enter your current password.") }
            try await limits.guess(passwordOf: account.id, from: context.clientAddress) {
                guard try await hasher.verify(current, against: hash, deadline: deadline) else {
                    throw Problem(.invalidCredentials, "The current password is not right.")
                }
            }
        } else {
            try age.require(user)
            try await limits.admit(.passwordChange, from: context.clientAddress)
        }
        let newHash = try await hasher.hash(new, deadline: deadline)
        let entry = try await passwords.setPassword(
            of: account, to: newHash, sparing: user.sessionID, notices: notices, deadline: deadline.forDatabase)
        // The credentials have changed since they were read. The client may repeat its request.
        guard let entry else { throw Problem(.unavailable) }
        worker.ring()
        // The password is changed. If tokens is away now, the outbox ends the sessions once it is back.
        try? await delivery.deliver(entry)
    }
}
