import Contracts
import Foundation
import Logging
import ServiceKit

/// Signing in with an identifier and a password (`POST /v1/auth/login`).
struct PasswordSignIn: Sendable {
    let accounts: AccountStore
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
        // Whoever changes the password while we are at it gets the last word; more than once is no coincidence.
        for _ in 0..<3 {
            let account = try await prove(identifier, password, device: device, context: context)
            let issued = try await sessions.issue(
                for: account, device: device, context: context, refusal: Problem(.invalidCredentials))
            if let issued { return issued.auth }
        }
        throw Problem(.unavailable)
    }

    /// The account that the identifier and the password belong to.
    ///
    /// One answer and one amount of work, whether there is no such account, no password, or a wrong one. That an
    /// account is disabled is told to its owner alone.
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
        let found = try await accounts.account(identifiedBy: identifier, deadline: context.deadline.forDatabase)
        let isRight = try await hasher.verify(password, against: found?.passwordHash, deadline: context.deadline)
        guard isRight, let found, let hash = found.passwordHash else { throw Problem(.invalidCredentials) }
        guard found.account.state == .active else { throw Problem(.accountDisabled) }
        if hasher.isOutdated(hash) {
            await rehash(password, of: found.account, replacing: hash, deadline: context.deadline)
        }
        return found.account
    }

    /// Parameters grow and peppers change; only at a sign-in is the password there to follow. It may fail: next time.
    private func rehash(
        _ password: Password, of account: Account, replacing old: String, deadline: Deadline
    ) async {
        do {
            let new = try await hasher.hash(password, deadline: deadline)
            try await accounts.rehash(account.id, from: old, to: new)
        } catch {
            logger.warning("A password was not hashed anew", metadata: ["error": "\(error)"])
        }
    }
}
