import Foundation
import GatehouseServiceContracts
import GatehouseServiceKit
import IdentityCore

/// Signing in with an identifier and a password (`POST /v1/auth/login`).
struct PasswordSignIn: Sendable {
    let verifier: PasswordVerifier
    let sessions: SessionIssuer

    func callAsFunction(_ request: LoginRequest, context: GatehouseRequestContext) async throws -> AuthResponse {
        let identifier = try Problem.checking("identifier") { () throws(Refusal) in
            try Identifier(request.identifier, home: verifier.home)
        }
        let password = try Problem.checking("password") { () throws(Refusal) in try Password(request.password) }
        let device = try request.device?.checked()
        return try await sessions.issue(
            on: device, by: .password, context: context, refusal: Problem(.invalidCredentials)
        ) {
            try await verifier.account(identifiedBy: identifier, password, device: device, context: context)
        }.auth
    }
}

/// Checks a new password against the rules, and against the passwords known from breaches.
package struct PasswordScreening: Sendable {
    let policy: PasswordPolicy
    /// `nil`: no list is configured.
    let breached: BreachedPasswords?

    /// Why the password is refused, in words for the user; `nil` where it is accepted.
    /// - Parameter identifiers: the user's own, in the form in which they are stored.
    func weakness(of password: Password, for identifiers: [String]) async throws -> String? {
        if let reason = policy.weakness(of: password, for: identifiers) { return reason }
        guard try await breached?.contain(password) == true else { return nil }
        return "This password is known from a breach of another service. An attacker would try it first."
    }

    /// - Throws: `WEAK_PASSWORD`, naming `field`.
    package func check(_ password: Password, for identifiers: [String], field: String) async throws {
        guard let reason = try await weakness(of: password, for: identifiers) else { return }
        throw Problem(
            .weakPassword, "Please choose a stronger password.",
            errors: [Problem.FieldError(field: field, message: reason)])
    }
}

/// Changes or sets the user's password (`POST /v1/auth/password`). All other sessions end. The current password counts
/// as authentication. A user without a password must have authenticated recently.
struct PasswordChange: Sendable {
    let passwords: PasswordStore
    let verifier: PasswordVerifier
    let hasher: PasswordHasher
    let screening: PasswordScreening
    let limits: AttemptLimits
    let age: AuthenticationAge
    let notices: SecurityNotices
    let delivery: OutboxDelivery
    let worker: OutboxWorker

    func callAsFunction(
        _ request: ChangePasswordRequest, by user: ForwardedUser, context: GatehouseRequestContext
    ) async throws {
        let new = try Problem.checking("newPassword") { () throws(Refusal) in try Password(request.newPassword) }
        let current = try Problem.checking("currentPassword") { () throws(Refusal) in
            try request.currentPassword.map { text throws(Refusal) in try Password(text) }
        }
        guard let (account, hash) = try await passwords.account(user.id) else { throw Problem(.invalidToken) }
        guard account.hasIdentifier else {
            throw Problem.invalid("newPassword", "The account has no e-mail address or phone number to sign in with.")
        }
        try await screening.check(new, for: [account.email, account.phone].compactMap(\.self), field: "newPassword")
        if let hash {
            guard let current else { throw Problem.invalid("currentPassword", "Please enter your current password.") }
            try await verifier.check(
                current, against: hash, of: account, wrong: "The current password is not right.", context: context)
        } else {
            try age.require(user)
            try await limits.admit(.passwordChange, from: context.clientAddress)
        }
        let newHash = try await hasher.hash(new)
        let entry = try await passwords.setPassword(of: account, to: newHash, sparing: user.sessionID, notices: notices)
        // The credentials have changed since they were read. The client may repeat its request.
        guard let entry else { throw Problem(.unavailable) }
        worker.wake()
        // The password is changed. If tokens is unavailable now, the outbox ends the sessions later.
        try? await delivery.deliver(entry)
    }
}

/// Registers a user with an identifier and a password (`POST /v1/auth/register`).
struct AccountRegistration: Sendable {
    let passwords: PasswordStore
    let hasher: PasswordHasher
    let screening: PasswordScreening
    let sessions: SessionIssuer
    let limits: AttemptLimits
    let verifier: PasswordVerifier
    let home: PhoneRegion?

    /// Seconds in which a registration may be repeated, because its response may have been lost.
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
            on: device, by: .password, context: context, refusal: Problem(.invalidCredentials)
        ) {
            try await account(identifier, password, displayName, device: device, context: context)
        }.auth
    }

    /// The new account, or the one that the same registration created a moment ago.
    private func account(
        _ identifier: Identifier, _ password: Password, _ displayName: DisplayName?, device: SessionDevice?,
        context: GatehouseRequestContext
    ) async throws -> Account {
        if try await passwords.account(identifiedBy: identifier) == nil {
            let hash = try await hasher.hash(password)
            let new = NewAccount(identifier: identifier, passwordHash: hash, displayName: displayName)
            if let account = try await passwords.register(new) { return account }
        }
        return try await repeated(identifier, password, device: device, context: context)
    }

    /// A repetition compares the password, so it counts as a sign-in attempt.
    private func repeated(
        _ identifier: Identifier, _ password: Password, device: SessionDevice?, context: GatehouseRequestContext
    ) async throws -> Account {
        let taken = Problem(.identifierTaken)
        guard let found = try await passwords.account(identifiedBy: identifier),
            Date.now.timeIntervalSince(found.account.createdAt) < Self.repetitionWindow
        else { throw taken }
        do {
            return try await verifier.account(identifiedBy: identifier, password, device: device, context: context)
        } catch let problem as Problem where problem.code == .invalidCredentials {
            throw taken
        }
    }
}
