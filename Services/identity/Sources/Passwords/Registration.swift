import Contracts
import Foundation
import ServiceKit

/// Registering with an identifier and a password (`POST /v1/auth/register`).
struct Registration: Sendable {
    let passwords: PasswordStore
    let hasher: PasswordHasher
    let screening: PasswordScreening
    let sessions: SessionIssuer
    let limits: AttemptLimits
    let signIn: PasswordSignIn
    let home: PhoneRegion?

    /// Seconds within which a registration may be repeated, since its answer may have been lost.
    static let repetitionWindow: TimeInterval = 600

    func callAsFunction(_ request: RegisterRequest, context: GatehouseRequestContext) async throws -> AuthResponse {
        let identifier = try Problem.checking("identifier") { () throws(Refusal) in
            try Identifier(request.identifier, home: home)
        }
        let password = try Problem.checking("password") { () throws(Refusal) in try Password(request.password) }
        let displayName = try Problem.checking("displayName") { () throws(Refusal) in
            try request.displayName.flatMap { text throws(Refusal) in try DisplayName.read(text) }
        }
        let device = try request.device?.checked()
        try await screening.check(password, for: [identifier.value], field: "password")
        try await limits.admit(registrationOf: identifier, from: context.clientAddress)
        return try await sessions.issue(
            on: device, by: [.password], context: context, refusal: Problem(.invalidCredentials)
        ) {
            try await account(identifier, password, displayName, device: device, context: context)
        }.auth
    }

    /// The new account, or the one that the same registration made a moment ago.
    private func account(
        _ identifier: Identifier, _ password: Password, _ displayName: DisplayName?, device: SessionDevice?,
        context: GatehouseRequestContext
    ) async throws -> Account {
        let deadline = context.deadline
        if try await passwords.account(identifiedBy: identifier, deadline: deadline.forDatabase) == nil {
            let hash = try await hasher.hash(password, deadline: deadline)
            let new = NewAccount(identifier: identifier, passwordHash: hash, displayName: displayName)
            if let account = try await passwords.register(new, deadline: deadline.forDatabase) { return account }
        }
        return try await repeated(identifier, password, device: device, context: context)
    }

    /// A repetition compares the password, so it counts as an attempt to sign in.
    private func repeated(
        _ identifier: Identifier, _ password: Password, device: SessionDevice?, context: GatehouseRequestContext
    ) async throws -> Account {
        let taken = Problem(.identifierTaken)
        guard let found = try await passwords.account(identifiedBy: identifier, deadline: context.deadline.forDatabase),
            Date.now.timeIntervalSince(found.account.createdAt) < Self.repetitionWindow
        else { throw taken }
        do {
            return try await signIn.prove(identifier, password, device: device, context: context)
        } catch let problem as Problem where problem.code == .invalidCredentials {
            throw taken
        }
    }
}
