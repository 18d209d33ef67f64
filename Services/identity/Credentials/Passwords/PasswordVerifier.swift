import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore
import Logging

/// Verifies passwords, for signing in and for every other request that takes one.
struct PasswordVerifier: CredentialVerifier {
    let passwords: PasswordStore
    let identifiers: IdentifierStore
    let hasher: PasswordHasher
    let limits: AttemptLimits
    let home: PhoneRegion?
    let logger: Logger

    let field = "password"

    func isPresented(in request: PresentedCredential) -> Bool { request.password != nil }

    func verify<Value: Sendable>(
        _ request: PresentedCredential, of subject: VerificationSubject, context: GatehouseRequestContext,
        then body: (VerifiedAccount) async throws -> Value
    ) async throws -> Value {
        let account = try await account(
            of: subject, verifiedBy: request.password ?? "", request.identifier, context: context)
        return try await body(VerifiedAccount(account: account, verification: .password))
    }

    /// The account of the identifier and the password.
    ///
    /// No account, no password and a wrong password produce the same response after the same amount of work. Only a
    /// caller that knows the password learns that the account is disabled.
    func account(
        identifiedBy identifier: Identifier, _ password: Password, device: SessionDevice?,
        context: GatehouseRequestContext
    ) async throws -> Account {
        AuditedAttempt.note(.password)
        return try await limits.guess(passwordOf: identifier, from: context.clientAddress, on: device) {
            try await compare(identifier, password)
        }
    }

    private func compare(_ identifier: Identifier, _ password: Password) async throws -> Account {
        let found = try await passwords.account(identifiedBy: identifier)
        if let found { AuditedAttempt.note(.password, of: .user(found.account.id)) }
        let comparison = try await hasher.compare(password, with: found?.passwordHash)
        guard comparison != .wrong, let found, let hash = found.passwordHash else { throw Problem(.invalidCredentials) }
        guard found.account.state == .active else { throw Problem(.accountDisabled) }
        if comparison == .right, hasher.isOutdated(hash) { await rehash(password, of: found.account, replacing: hash) }
        return found.account
    }

    /// Hashes the password again with current parameters and pepper. This is possible only at a sign-in, when the
    /// password is known. A failure is ignored; the next sign-in retries.
    private func rehash(_ password: Password, of account: Account, replacing old: String) async {
        do {
            let new = try await hasher.hash(password)
            try await passwords.rehash(account.id, from: old, to: new)
        } catch {
            logger.warning("A password could not be hashed with current parameters", metadata: ["error": "\(error)"])
        }
    }

    /// The account that a signed-in user presents.
    /// - Parameter identifier: that of another account. Without one, that account has lost an identifier to the user.
    /// - Throws: `INVALID_CREDENTIALS`; `INVALID_REQUEST` where the signed-in user has no password.
    func account(
        of subject: VerificationSubject, verifiedBy text: String, _ identifier: String?,
        context: GatehouseRequestContext
    ) async throws -> Account {
        try hasher.requireRoom()
        let password = try Problem.checking("password") { () throws(Refusal) in try Password(text) }
        switch subject {
        case .account(let user):
            guard let (account, hash) = try await passwords.account(user.id) else { throw Problem(.invalidToken) }
            guard let hash else { throw Problem.invalid("password", "The account has no password.") }
            try await check(
                password, against: hash, of: account, wrong: "The password is not right.", context: context)
            return account
        case .otherAccount(let user):
            guard let identifier else { return try await formerOwner(of: user, password, context: context) }
            let home = home
            return try await account(
                identifiedBy: Problem.checking("identifier") { () throws(Refusal) in
                    try Identifier(identifier, home: home)
                }, password, device: nil, context: context)
        }
    }

    /// Compares the password of a signed-in user. A wrong one counts as a wrong current password does when changing it.
    /// - Parameter wrong: the message of the refusal.
    func check(
        _ password: Password, against hash: String, of account: Account, wrong: String,
        context: GatehouseRequestContext
    ) async throws {
        AuditedAttempt.note(.password)
        try await limits.guess(passwordOf: account.id, from: context.clientAddress) {
            guard try await hasher.verify(password, against: hash) else { throw Problem(.invalidCredentials, wrong) }
        }
    }

    /// The account with the password that has lost an identifier to the user.
    private func formerOwner(
        of user: ForwardedUser, _ password: Password, context: GatehouseRequestContext
    ) async throws -> Account {
        AuditedAttempt.note(.password)
        return try await limits.guess(passwordOf: user.id, from: context.clientAddress) {
            for id in try await identifiers.former(owners: user.id) {
                guard let (account, hash) = try await passwords.account(id), hash != nil,
                    try await hasher.verify(password, against: hash)
                else { continue }
                guard account.state == .active else { throw Problem(.accountDisabled) }
                return account
            }
            throw Problem(.invalidCredentials)
        }
    }
}
