import Contracts
import Foundation
import Logging
import ServiceKit

/// Signing in with an identifier and a password (`POST /v1/auth/login`).
struct PasswordSignIn: Sendable {
    let passwords: PasswordStore
    let hasher: PasswordHasher
    let sessions: SessionIssuer
    let limits: AttemptLimits
    let home: PhoneRegion?
    let logger: Logger

    func callAsFunction(_ request: LoginRequest, context: GatehouseRequestContext) async throws -> AuthResponse {
        let identifier = try Problem.checking("identifier") { () throws(Refusal) in
            try Identifier(request.identifier, home: home)
        }
        let password = try Problem.checking("password") { () throws(Refusal) in try Password(request.password) }
        let device = try request.device?.checked()
        return try await sessions.issue(
            on: device, by: [.password], context: context, refusal: Problem(.invalidCredentials)
        ) {
            try await prove(identifier, password, device: device, context: context)
        }.auth
    }

    /// The account that the identifier and the password belong to.
    ///
    /// No account, no password and a wrong password get the same answer after the same amount of work. Only who knows
    /// the password is told that the account is disabled.
    func prove(
        _ identifier: Identifier, _ password: Password, device: SessionDevice?, context: GatehouseRequestContext
    ) async throws -> Account {
        try await limits.guess(
            passwordOf: identifier, from: context.clientAddress, on: device, deadline: context.deadline
        ) {
            try await compare(identifier, password, context: context)
        }
    }

    private func compare(
        _ identifier: Identifier, _ password: Password, context: GatehouseRequestContext
    ) async throws -> Account {
        let found = try await passwords.account(identifiedBy: identifier, deadline: context.deadline.forDatabase)
        if let found { AuditedAttempt.note(.password, of: .user(found.account.id)) }
        let isRight = try await hasher.verify(password, against: found?.passwordHash, deadline: context.deadline)
        guard isRight, let found, let hash = found.passwordHash else { throw Problem(.invalidCredentials) }
        guard found.account.state == .active else { throw Problem(.accountDisabled) }
        if hasher.isOutdated(hash) {
            await rehash(password, of: found.account, replacing: hash, deadline: context.deadline)
        }
        return found.account
    }

    /// Hashes the password with today's parameters and pepper: only at a sign-in is the password known. May fail; the
    /// next sign-in tries again.
    private func rehash(
        _ password: Password, of account: Account, replacing old: String, deadline: Deadline
    ) async {
        do {
            let new = try await hasher.hash(password, deadline: deadline)
            try await passwords.rehash(account.id, from: old, to: new)
        } catch {
            logger.warning("A password was not hashed anew", metadata: ["error": "\(error)"])
        }
    }
}
