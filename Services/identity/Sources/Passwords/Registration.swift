import Contracts
import Foundation
import ServiceKit

/// Becoming a user with an identifier and a password (`POST /v1/auth/register`).
struct Registration: Sendable {
    let accounts: AccountStore
    let hasher: PasswordHasher
    let policy: PasswordPolicy
    let signIn: PasswordSignIn

    /// Seconds within which a registration may be repeated: its answer may have been lost.
    static let repetitionWindow: TimeInterval = 600

    func callAsFunction(_ request: RegisterRequest, context: GatehouseRequestContext) async throws -> AuthResponse {
        let identifier = try Problem.checking("identifier") { () throws(Refusal) in
            try Identifier(request.identifier, home: signIn.home)
        }
        let password = try Problem.checking("password") { () throws(Refusal) in try Password(request.password) }
        let displayName = try Problem.checking("displayName") { () throws(Refusal) in
            try request.displayName.flatMap { text throws(Refusal) in try DisplayName.read(text) }
        }
        let device = try request.device?.checked()
        try policy.check(password, for: [identifier.value], field: "password")
        try await signIn.limits.admit(registrationOf: identifier, from: context.clientAddress)
        for _ in 0..<3 {
            let account = try await account(
                identifier, password, displayName, device: device, context: context)
            let issued = try await signIn.sessions.issue(
                for: account, device: device, context: context, refusal: Problem(.invalidCredentials))
            if let issued { return issued.auth }
        }
        throw Problem(.unavailable)
    }

    /// The new account, or the one that a moment ago the same registration made.
    private func account(
        _ identifier: Identifier, _ password: Password, _ displayName: DisplayName?, device: SessionDevice?,
        context: GatehouseRequestContext
    ) async throws -> Account {
        let deadline = context.deadline
        if try await accounts.account(identifiedBy: identifier, deadline: deadline.forDatabase) == nil {
            let hash = try await hasher.hash(password, deadline: deadline)
            let new = NewAccount(identifier: identifier, passwordHash: hash, displayName: displayName)
            if let account = try await accounts.register(new, deadline: deadline.forDatabase) { return account }
        }
        return try await repeated(identifier, password, device: device, context: context)
    }

    /// Whoever repeats a registration could be guessing, so this counts as an attempt to sign in.
    private func repeated(
        _ identifier: Identifier, _ password: Password, device: SessionDevice?, context: GatehouseRequestContext
    ) async throws -> Account {
        let taken = Problem(.identifierTaken)
        guard let found = try await accounts.account(identifiedBy: identifier, deadline: context.deadline.forDatabase),
            Date.now.timeIntervalSince(found.account.createdAt) < Self.repetitionWindow
        else { throw taken }
        do {
            return try await signIn.prove(identifier, password, device: device, context: context)
        } catch let problem as Problem where problem.code == .invalidCredentials {
            throw taken
        }
    }
}
